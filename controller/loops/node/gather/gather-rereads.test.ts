import t from 'tap'
import type { BoundVM, NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import { boundVM, MAC, spec, vm } from '../../../../test/fixtures/facts.ts'
import type { Inventory } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { awaitRereads } from './gather.ts'

const NEW = '00:50:56:8e:ff:01'
const OTHER = '00:50:56:8e:ff:02'

function withMACs(...macs: readonly string[]): NodeReportSpec {
  return spec({
    interfaces: macs.map((mac, i) => ({ name: `ens${i}`, mac, defaultRoute: i === 0, addresses: [] })),
  })
}

/** What is asked of the inventory, and what becomes of the lookup of the VMs. */
function ask(
  reported: NodeReportSpec | undefined,
  bound: BoundVM | undefined,
  vms: readonly VirtualMachine[],
  isRead: ReturnType<Inventory['readSince']> = false,
) {
  const asked: string[] = []
  const inventory: Pick<Inventory, 'vCenter' | 'readSince'> = {
    vCenter: 'vc1',
    readSince(moref, doubt) {
      asked.push(`${moref} ${doubt}`)
      return isRead
    },
  }
  const lookups = [{ vCenter: 'vc1', uuid: 'u', lookup: { state: 'answered' as const, vms } }]
  const previous = bound === undefined ? {} : { vm: bound }
  const [one] = awaitRereads(lookups, reported, { node: { name: 'worker-1' }, previous }, [inventory])
  return { asked, state: one?.lookup.state, ...(typeof isRead === 'object' ? { lookup: one?.lookup } : {}) }
}

t.test('where vCenter refuses to read it again, that is what is known', async (t) => {
  const failure = { vCenter: 'vc1', reason: 'NoPermission', message: 'may not read it' } as const
  const copies = [vm({ nics: [] }), vm({ moref: 'vm-43', nics: [] })]
  for (const bound of [undefined, boundVM()])
    t.match(ask(withMACs(NEW), bound, copies, failure), {
      lookup: { state: 'unknown', failure, alone: true },
    })
})

t.test('a VM whose guest has a NIC that it did not have is read once more', async (t) => {
  const bound = boundVM()
  const known = { asked: [], state: 'answered' }
  t.same(ask(withMACs(MAC), bound, [vm()]), known, 'it has them all')
  t.same(ask(withMACs(), bound, [vm()]), known, 'nothing is reported')
  t.same(ask(undefined, bound, [vm()]), known)
  t.same(ask(withMACs(NEW), bound, [vm()]), { asked: [`vm-42 ${NEW}`], state: 'pending' })
  t.same(ask(withMACs(NEW), bound, [vm()], true), { asked: [`vm-42 ${NEW}`], state: 'answered' })
  t.same(
    ask(withMACs(OTHER, MAC, NEW), bound, [vm()]),
    { asked: [`vm-42 ${NEW} ${OTHER}`], state: 'pending' },
    'also where another NIC is still there: its addresses would be lost',
  )
})

t.test('others that have its UUID are not', async (t) => {
  const copy = vm({ moref: 'vm-43', nics: [{ mac: OTHER }] })
  t.same(ask(withMACs(MAC), boundVM(), [vm(), copy]).asked, [])
  t.same(ask(withMACs(NEW), boundVM(), [vm(), copy]).asked, [`vm-42 ${NEW}`])
  t.same(ask(withMACs(MAC, NEW), undefined, [vm(), copy]).asked, [], 'nor of a new Node whose VM is known')
  t.same(ask(withMACs(NEW), undefined, [vm(), copy]).asked, [`vm-42 ${NEW}`, `vm-43 ${NEW}`])
})

t.test('a VM that does not show the claim of the report, where another one does', async (t) => {
  const bound = boundVM()
  const silent = vm({ claim: undefined })
  const { digest } = spec().claim
  const copy = vm({ moref: 'vm-43' })
  t.same(ask(spec(), bound, [silent, copy]), { asked: [`vm-42 ${digest}`], state: 'pending' })
  t.equal(ask(spec(), bound, [silent, copy], true).state, 'answered')
  t.same(ask(spec(), bound, [vm(), copy]).asked, [], 'both show it')
  t.same(ask(spec(), bound, [silent, { ...copy, claim: undefined }]).asked, [], 'none does')
  t.same(ask(spec(), undefined, [silent, copy]).asked, [`vm-42 ${digest}`], 'the Node was never verified')
  const moved = vm({ moref: 'vm-44', claim: undefined })
  t.same(ask(spec(), bound, [moved, copy]).asked, [`vm-44 ${digest}`], 'the machine may have moved there')
})

t.test('a VM whose host does not answer is read again once it does', async (t) => {
  const bound = boundVM()
  const away = vm({ connectionState: 'inaccessible' })
  t.same(ask(withMACs(MAC, NEW), bound, [away]).asked, [`vm-42 ${NEW} inaccessible`])
  t.same(ask(withMACs(MAC, NEW), bound, [vm()]).asked, [`vm-42 ${NEW}`], 'for the inventory another doubt')
  t.same(ask(withMACs(MAC), bound, [away]).asked, [], 'nothing is in doubt')
})

t.test('the VM that shows the claim, in another vCenter, waits as well', async (t) => {
  const vCenters = ['vc1', 'vc2']
  const silent = vm({ claim: undefined })
  const copy = vm({ vCenter: { name: 'vc2', instanceUUID: 'another' } })
  const states = (isRead: ReturnType<Inventory['readSince']>) =>
    awaitRereads(
      [silent, copy].map((each, i) => ({
        vCenter: vCenters[i] ?? '',
        uuid: 'u',
        lookup: { state: 'answered' as const, vms: [each] },
      })),
      spec(),
      { node: { name: 'worker-1' }, previous: {} },
      vCenters.map((vCenter) => ({ vCenter, readSince: () => isRead })),
    ).map(({ lookup }) => lookup.state)
  t.same(states(false), ['pending', 'pending'])
  t.same(states(true), ['answered', 'answered'])
})
