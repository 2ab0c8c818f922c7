import t from 'tap'
import {
  BIOS_UUID,
  boundVM,
  decide,
  known,
  NODE_UID,
  report,
  settled,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import type { Lookup } from '../../../../types/inventory.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { NodeFacts } from '../node-facts.ts'

const INSTANCE = '511e3f74-ea84-f9a2-7736-6106bb5dbf6b'
const copy = vm({ moref: 'vm-43', name: 'copy', instanceUUID: INSTANCE })
const away: Lookup = {
  state: 'unknown',
  failure: { vCenter: 'vc2', reason: 'Unreachable', message: 'it does not answer' },
}

/** What VMFound says of a Node, vm-42, for which a person has written this, while these VMs are shown. */
function said(vmAnnotation: string | undefined, ...vms: readonly VirtualMachine[]): string {
  return saidOf(written(vmAnnotation, ...vms))
}

function written(vmAnnotation: string | undefined, ...vms: readonly VirtualMachine[]): NodeFacts {
  const first = settled({ vms })
  return { ...first, node: { ...first.node, vmAnnotation } }
}

function saidOf(facts: NodeFacts): string {
  return decide(facts).status?.conditions?.find(({ type }) => type === 'VMFound')?.message ?? ''
}

t.test('it is said why the word of a person is not obeyed', async (t) => {
  const off = vm({ powerState: 'poweredOff' })
  t.match(
    said(NODE_UID, vm(), copy),
    /is that of VM.*not applied: no VM with the BIOS UUID of this Node has that/,
  )
  t.match(said(NODE_UID, vm(), copy), /kubectl annotate node worker-1 rollcall.dev\/vm-$/)
  t.match(said(INSTANCE.toUpperCase(), vm(), copy), /in lower case/)
  t.match(said(NODE_UID, copy), /is not found.*not applied: no VM/, 'its own is not found')
  t.match(said(NODE_UID, off, copy), /powered off.*not applied: no VM/, 'its own is off')
  t.match(said(INSTANCE, vm(), copy, { ...copy, moref: 'vm-44' }), /: 2 VMs.*remove all but one$/)
  t.match(said(INSTANCE, vm(), { ...copy, powerState: 'poweredOff' }), /until VM "copy" .* runs/)
  t.match(said(INSTANCE, vm(), { ...copy, nics: [{ mac: '00:50:56:8e:00:02' }] }), /does not fit by its MAC/)
  const waits = written(INSTANCE, vm(), copy)
  const lookups = [...waits.lookups, { vCenter: 'vc2', uuid: BIOS_UUID, lookup: away }]
  t.match(saidOf({ ...waits, lookups }), /is not applied until every vCenter has answered$/)
})

t.test('also where the Node was too many others', async (t) => {
  const formerVMs = ['vm-1', 'vm-2', 'vm-3', 'vm-4'].map((moref) => boundVM({ moref }))
  const first = written(INSTANCE, vm(), copy)
  const status = { ...first.report?.status, formerVMs }
  const full = known({ ...first, report: report({ ...first.report, status }) })
  t.match(
    saidOf(full),
    /was 4 other VMs before.*kubectl delete node worker-1, then restart the kubelet there$/,
  )
})

t.test('nothing is said of a word that is obeyed, or was', async (t) => {
  const moved = decide(written(INSTANCE, vm(), copy))
  t.match(moved.status, { vm: { moref: 'vm-43' }, obeyedAnnotation: INSTANCE })
  for (const facts of [
    written(INSTANCE, vm(), copy),
    written(vm().instanceUUID, vm(), copy),
    written(undefined, vm()),
  ])
    t.notMatch(saidOf(facts), /obeyed/)
  const first = written(INSTANCE, vm(), copy)
  const status = { ...first.report?.status, obeyedAnnotation: INSTANCE }
  t.notMatch(saidOf(known({ ...first, report: report({ ...first.report, status }) })), /obeyed/)
})
