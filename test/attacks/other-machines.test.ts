import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import type { NodeReportSpec } from '../../agent/shared/node-report.ts'
import type { VcsimVM } from '../servers/control.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { productUUID } from '../world/machine.ts'
import { condition, type NodeObject } from '../world/objects.ts'
import { checkHeld } from './held.ts'
import { runTheme } from './refused.ts'
import { otherMachines } from './rows/other-machines.ts'
import type { AttackRow } from './rows/row.ts'
import { type AttackMember, type Forger, nic, openAttackStage, truth } from './stage.ts'

const stage = await openAttackStage(t, { vms: 24 })
const { cluster, vcsim, vms } = stage
const victim = await stage.victim('worker-10')
const off = await stage.victim('worker-12')
const weak = await stage.victim('worker-11', { level: 'reported' })

function spare(): VcsimVM {
  const vm = vms.shift()
  if (vm === undefined) throw new Error('no VM is left')
  return vm
}

const uuids = (serial: string, product = serial): Pick<NodeReportSpec, 'machine'> => ({
  machine: {
    vendor: 'VMware, Inc.',
    product: 'VMware20,1',
    serialUUID: serial,
    productUUID: productUUID(product),
  },
})

const nicOf = ({ vm, address }: Pick<AttackMember, 'vm' | 'address'>, name?: string) =>
  nic(vm.vnics[0]?.mac, [address], name)

/** A new Node reports its machine with these changes, and is held up as the row says. */
const held =
  (changes: (forger: Forger) => Partial<NodeReportSpec>) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const forger = await stage.forger(`forger-${randomUUID().slice(0, 8)}`)
    t.match(await forger.report(truth(forger, changes(forger))), { status: 201 })
    await checkHeld(t, stage, forger, row.seen)
    t.equal((await nodeOf(forger)).spec.providerID, undefined)
  }

/** The same where there is nothing to refuse, for nobody goes by what was forged. */
const harmless =
  (changes: (forger: Forger) => Partial<NodeReportSpec>) =>
  async (t: Test, row: AttackRow): Promise<void> => {
    const forger = await stage.forger(`forger-${randomUUID().slice(0, 8)}`)
    await forger.proven()
    t.match(await forger.report(truth(forger, changes(forger))), { status: 200 })
    const { status } = await forger.judged()
    t.match(condition(await forger.judged(), 'IdentityVerified'), { status: 'True', reason: row.seen })
    t.match(status?.vm, { moref: forger.vm.ref })
    const { status: node } = await nodeOf(forger)
    t.equal(node.addresses?.find(({ type }) => type === 'InternalIP')?.address, forger.address)
    t.notOk(node.addresses?.some(({ address }) => address === victim.address))
  }

async function nodeOf({ name }: Pick<Forger, 'name'>): Promise<NodeObject> {
  return (await cluster.request<NodeObject>('GET', `/api/v1/nodes/${name}`)).body
}

const weakBefore = await weak.seen()

await runTheme(
  t,
  otherMachines,
  {
    'proven VM': held(() => uuids(victim.vm.uuid)),
    'proven VM with its MACs': held(({ address }) => ({
      ...uuids(victim.vm.uuid),
      interfaces: [nicOf({ vm: victim.vm, address })],
    })),
    'proven VM with both MACs': held((forger) => ({
      ...uuids(victim.vm.uuid),
      interfaces: [nicOf(forger), nicOf(victim, 'ens224')],
    })),
    'reported VM': held(() => uuids(weak.vm.uuid)),
    'reported VM with its MACs': held(({ address }) => ({
      ...uuids(weak.vm.uuid),
      interfaces: [nicOf({ vm: weak.vm, address })],
    })),
    'VM without a Node': held(() => uuids(spare().uuid)),
    'no VM': held(() => uuids(randomUUID())),
    'VM that is off': async (t, row) => {
      const vm = spare()
      await vcsim.setState({ vm: vm.ref, powerState: 'poweredOff' })
      await held(({ address }) => ({ ...uuids(vm.uuid), interfaces: [nicOf({ vm, address })] }))(t, row)
    },
    'another VM later': async (t, row) => {
      const forger = await stage.forger('two-faced')
      await forger.proven()
      const before = await nodeOf(forger)
      const interfaces = [nicOf(victim)]
      t.match(await forger.report(truth(forger, { ...uuids(victim.vm.uuid), interfaces })), { status: 200 })
      const judged = await forger.judged()
      t.match(condition(judged, 'IdentityVerified'), { status: 'False', reason: row.seen })
      t.equal(judged.status?.identityLevel, undefined)
      const { spec, status } = await nodeOf(forger)
      t.same({ spec, status }, { spec: before.spec, status: before.status }, 'its Node is left as it is')
    },
    'two VMs at once': held(({ vm }) => uuids(vm.uuid, victim.vm.uuid)),
    'provider ID at registration': async (t, row) => {
      const providerID = `vsphere://${victim.vm.uuid}`
      const forger = await stage.forger('bringing', { kubelet: { providerID } })
      t.match(await forger.report(truth(forger)), { status: 201 })
      await checkHeld(t, stage, forger, row.seen)
    },
    "the victim's address": held((forger) => ({
      interfaces: [nicOf({ vm: forger.vm, address: victim.address })],
    })),
    'the address of one that is off': async (t, row) => {
      await vcsim.setState({ vm: off.vm.ref, powerState: 'poweredOff' })
      await loseHeartbeats(cluster, off.name)
      await held((forger) => ({ interfaces: [nicOf({ vm: forger.vm, address: off.address })] }))(t, row)
    },
    "the victim's MAC": harmless((forger) => ({ interfaces: [nicOf(forger), nicOf(victim, 'ens224')] })),
    "the victim's names": harmless(() => ({
      hostname: `${victim.name}.example`,
      cloudInit: { instanceID: victim.name, localHostname: victim.name, addresses: [`${victim.address}/24`] },
    })),
  },
  victim,
)

t.test('the Node that is only reported is as it was', async (t) => t.same(await weak.seen(), weakBefore))
