import t from 'tap'
import { MAC, NOW, SETTINGS, settled, vm } from '../../../../test/fixtures/facts.ts'
import { absence } from '../../../../test/fixtures/probes.ts'
import { inventory, sourcesOf } from '../../../../test/fixtures/sources.ts'
import type { Lookup, Proof } from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { decide } from '../decide/decide.ts'
import type { Evidence } from '../decide/lifecycle/evidence.ts'
import { brakeGroup } from '../facts/machines.ts'
import { createProbeTracker } from '../vm-probes/probe-tracker.ts'
import { heldAddresses } from './address-holders.ts'
import { gather } from './gather.ts'
import { createNodeIndex } from './node-index.ts'

const GONE: Lookup = { state: 'answered', vms: [] }

/** Verified Nodes, each with a VM of its own. */
function setUp(names: readonly string[]) {
  const { node, report } = settled()
  if (report === undefined) throw new Error('a settled Node has a report')
  const nodes = new Map<string, Node>()
  const reports = new Map<string, NodeReport>()
  const lookups = new Map<string, Lookup>()
  const index = createNodeIndex(SETTINGS.identity)
  for (const [i, name] of names.entries()) {
    const biosUUID = `42000000-0000-4000-8000-00000000000${i}`
    const bound = report.status.vm
    if (bound === undefined) throw new Error('a settled Node is bound')
    const own = { ...node, name, uid: `uid-${i}`, providerID: `vsphere://${biosUUID}`, systemUUID: biosUUID }
    const spec: NodeReport['spec'] = report.spec.ok
      ? {
          ...report.spec,
          value: {
            ...report.spec.value,
            nodeUID: own.uid,
            machine: { ...report.spec.value.machine, serialUUID: biosUUID },
          },
        }
      : report.spec
    const its = {
      ...report,
      name,
      spec,
      status: { ...report.status, nodeUID: own.uid, vm: { ...bound, biosUUID, moref: `vm-${i}` } },
    }
    nodes.set(name, own)
    reports.set(name, its)
    lookups.set(biosUUID, { state: 'answered', vms: [vm({ biosUUID, moref: `vm-${i}` })] })
    index.node(name, own)
    index.report(name, its)
  }
  const tracker = createProbeTracker(() => 0)
  const sources = sourcesOf({
    node: (name) => nodes.get(name),
    report: (name) => reports.get(name),
    index,
    inventories: [inventory({ lookup: (uuid) => lookups.get(uuid) ?? GONE })],
    tracker,
  })
  const factsOf = (name: string) => {
    const facts = gather(name, sources, { now: NOW, monotonic: 0 })
    if (facts === undefined) throw new Error(`no Node ${name}`)
    return facts
  }
  const uncounted = (name: string) => {
    const { machines } = factsOf(name)
    return machines && factsOf(name).uncounted(brakeGroup(machines))
  }
  const vanish = (name: string) => {
    for (const uuid of index.uuidsOf(name)) lookups.set(uuid, GONE)
  }
  const reconcile = (name: string) => tracker.track(name, decide(factsOf(name)).probePlan)
  /** What vCenter says of the VM of this Node. */
  const set = (name: string, changes: Partial<VirtualMachine>) => {
    const i = names.indexOf(name)
    const biosUUID = `42000000-0000-4000-8000-00000000000${i}`
    lookups.set(biosUUID, { state: 'answered', vms: [vm({ biosUUID, moref: `vm-${i}`, ...changes })] })
  }
  return { nodes, reports, sources, factsOf, uncounted, vanish, reconcile, set }
}

t.test('a Node whose VM has vanished is known before it is reconciled', async (t) => {
  const { nodes, uncounted, vanish, reconcile } = setUp(['a', 'b', 'c'])
  vanish('a')
  reconcile('a')
  t.equal(uncounted('a'), undefined, 'the others are there')
  vanish('b')
  vanish('c')
  t.equal(uncounted('a'), 'b')
  reconcile('b')
  t.equal(uncounted('a'), 'c')
  const c = nodes.get('c')
  if (c !== undefined) nodes.set('c', { ...c, deleting: true })
  t.equal(uncounted('a'), undefined, 'nobody looks at what is being deleted')
})

t.test('one account of a vCenter that may read enough will do, and each vCenter needs one', async (t) => {
  const { sources } = setUp(['a'])
  const [inventory] = sources.inventories
  if (inventory === undefined) throw new Error('there is one')
  const own = vm().vCenter.instanceUUID
  const proven: Proof = { state: 'proven' }
  const failure = { vCenter: 'hr', reason: 'PrivilegeMissing', message: 'lacks System.Read' } as const
  const unproven: Proof = { state: 'unproven', failure }
  const provable = (...accounts: readonly (readonly [string, Proof | undefined])[]) => {
    const inventories = accounts.map(([instanceUUID, proof], index) => ({
      ...inventory,
      vCenter: `vc${index}`,
      instanceUUID: () => instanceUUID,
      provable: () => proof,
    }))
    return gather('a', { ...sources, inventories }, { now: NOW, monotonic: 0 })?.provable
  }
  t.same(provable([own, unproven]), [unproven])
  t.same(provable([own, unproven], [own, proven]), [proven])
  t.same(provable([own, unproven], [own, undefined]), [undefined], 'not known yet')
  t.same(provable([own, proven], ['two', unproven]), [proven, unproven])
  t.same(provable(['', unproven], ['', proven]), [unproven, proven], 'nobody knows which they are')
})

t.test(
  'a Node that is being deleted, and whose machine is proven gone, holds no address and no VM',
  async (t) => {
    const { nodes, sources, factsOf, vanish } = setUp(['a', 'b'])
    vanish('a')
    const silent = { ...factsOf('a').node, ready: { status: 'Unknown', lastHeartbeatTime: '' } }
    const leaving = { ...silent, deleting: true, deletingSince: 'then', finalizers: ['f'] }
    nodes.set('a', leaving)
    const before = factsOf('a')
    const { vm } = before.previous
    if (vm === undefined) throw new Error('it is bound')
    const gone = absence(before, { vm, times: 1 })
    const held = (node: Node, evidence: Evidence | undefined) =>
      heldAddresses(
        { node, report: before.report },
        { ...sources, tracker: { ...sources.tracker, evidence: () => evidence } },
      )
    t.same(held(leaving, gone), [])
    t.same(held(silent, gone), ['a'], 'one that may stay keeps its name')
    const [, address = ''] = held(leaving, undefined)
    t.not(address, '', 'and all, where it is not proven')
    t.match(factsOf('b').addressHolder(address), { name: 'a', deletingSince: 'then', finalizers: ['f'] })
  },
)

t.test('of several Nodes that hold an address, the strongest is named', async (t) => {
  const { nodes, reports, sources, factsOf, set } = setUp(['a', 'b', 'c', 'd'])
  const holder = () => factsOf('d').addressHolder('10.0.0.5')?.name
  t.equal(holder(), 'a', 'the first by name, of the same second')
  const change = (name: string, changes: Partial<Node>) => {
    const own = nodes.get(name)
    if (own !== undefined) nodes.set(name, { ...own, ...changes })
  }
  change('c', { creationTimestamp: '2020-01-01T00:00:00Z' })
  t.equal(holder(), 'c', 'the oldest')
  const its = reports.get('c')
  if (its === undefined) throw new Error('there is one')
  const { identityLevel: _, ...status } = its.status
  reports.set('c', { ...its, status })
  sources.index.report('c', reports.get('c'))
  t.equal(holder(), 'a', 'one that was verified with it')
  set('a', {
    guestNICs: [
      {
        mac: MAC,
        network: 'n',
        deviceConfigID: 4000,
        addresses: [{ address: '10.9.9.9', prefixLength: 24 }],
      },
    ],
  })
  t.equal(holder(), 'b', 'one that vCenter does not contradict')
})
