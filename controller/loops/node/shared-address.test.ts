/** Two Nodes that report one address, and are decided on at one time. */

import type { Test } from 'tap'
import t from 'tap'
import { MAC, NOW, node, report, SETTINGS, spec, vm } from '../../../test/fixtures/facts.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { absence } from '../../../test/fixtures/probes.ts'
import { inventory, sourcesOf } from '../../../test/fixtures/sources.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import type { Writer } from './apply/apply.ts'
import type { Evidence } from './decide/lifecycle/evidence.ts'
import { createNodeIndex } from './gather/node-index.ts'
import { createReconciler } from './reconcile.ts'
import { createProbeTracker } from './vm-probes/probe-tracker.ts'

const ADDRESS = '10.0.0.5'

function setUp(t: Test, names: readonly string[]) {
  const clock = createHandClock()
  const index = createNodeIndex(SETTINGS.identity)
  const nodes = new Map<string, Node>()
  const reports = new Map<string, NodeReport>()
  const vms = new Map<string, VirtualMachine>()
  const woken: string[] = []
  /** The API server answers once this is resolved. */
  const gate: { open: Promise<void> } = { open: Promise.resolve() }
  for (const [i, name] of names.entries()) {
    const biosUUID = `42000000-0000-4000-8000-00000000000${i}`
    const nodeUID = `11111111-2222-4333-8444-00000000000${i}`
    const own = node({ name, uid: nodeUID, systemUUID: biosUUID, addresses: [] })
    const machine = { serialUUID: biosUUID, productUUID: biosUUID }
    const its = report({ name, spec: { ok: true, value: spec({ nodeUID, machine }) } })
    nodes.set(name, own)
    reports.set(name, its)
    vms.set(biosUUID, vm({ moref: `vm-${i}`, biosUUID, instanceUUID: biosUUID, claim: undefined }))
    index.node(name, own)
    index.report(name, its)
  }
  let version = 1_000
  const written = <T extends Node | NodeReport>(
    store: Map<string, T>,
    object: T | undefined,
    changes: object,
  ) => {
    if (object === undefined) return { outcome: 'gone' } as const
    const next = { ...object, ...changes, resourceVersion: String(version++) }
    store.set(object.name, next)
    return { outcome: 'written', object: next } as const
  }
  const writer: Writer = {
    async patchNodeStatus(name, _, { addresses }) {
      await gate.open
      return written(nodes, nodes.get(name), { addresses })
    },
    async patchNode(name, _, { labels, annotations: _annotations, ...changes }) {
      await gate.open
      const own = nodes.get(name)
      return written(nodes, own, { ...changes, labels: { ...own?.labels, ...labels } })
    },
    patchReportStatus: async (name, _, status) => written(reports, reports.get(name), { status }),
    createReport: () => Promise.reject(new Error('there is one')),
    deleteNode: () => Promise.reject(new Error('nobody wants that')),
    confirm: async () => true,
    recordEvent: () => undefined,
  }
  const tracker = createProbeTracker(clock.monotonic)
  /** What vCenter has said of the machine of a Node. */
  const proofs = new Map<string, Evidence>()
  const { reconcile, run } = createReconciler({
    sources: sourcesOf({
      node: (name) => nodes.get(name),
      report: (name) => reports.get(name),
      index,
      inventories: [
        inventory({
          lookup: (uuid) => ({
            state: 'answered',
            vms: [vms.get(uuid)].filter((each) => each !== undefined),
          }),
        }),
      ],
      tracker: { ...tracker, evidence: (name) => proofs.get(name) ?? tracker.evidence(name) },
    }),
    tracker,
    enqueueProbe: () => undefined,
    enqueue: (name) => woken.push(name),
    writer,
    statusWriter: () => writer,
    clock,
    onDecision: () => undefined,
    onDeleted: () => undefined,
    onRejected: () => undefined,
    onStatus: (name, current) => woken.push(...index.report(name, current).concerned),
    onStatusError: () => undefined,
  })
  const ending = new AbortController()
  const running = run(ending.signal)
  t.teardown(() => {
    ending.abort()
    return running
  })
  /** The watch shows all that was written. */
  const show = () => {
    for (const [name, each] of nodes) woken.push(...index.node(name, each).concerned)
    for (const [name, each] of reports) woken.push(...index.report(name, each).concerned)
  }
  /** The watch shows that it is gone. */
  const forget = (name: string) => {
    index.node(name, undefined)
    index.report(name, undefined)
  }
  const reported = (name: string) => reports.get(name)?.status
  return {
    clock,
    gate,
    index,
    nodes,
    reports,
    vms,
    proofs,
    reconcile,
    show,
    forget,
    woken,
    /** The Nodes that are verified with the address. */
    holders: () =>
      names.filter((name) => reported(name)?.addresses?.some((each) => each.address === ADDRESS)),
    showing: () =>
      names.filter((name) => nodes.get(name)?.addresses.some((each) => each.address === ADDRESS)),
    said: (name: string) =>
      reported(name)?.conditions?.find(({ type }) => type === 'AddressesResolved')?.reason,
  }
}

t.test('one of them gets it, though the other is decided on before anything is written', async (t) => {
  const { clock, gate, reconcile, show, holders, showing, said } = setUp(t, ['a', 'b'])
  const { promise, resolve } = Promise.withResolvers<void>()
  gate.open = promise
  const both = Promise.all([reconcile('a'), reconcile('b')])
  await clock.turn(100)
  resolve()
  await both
  await clock.turn(100)
  t.same(showing(), ['a'])
  show()
  for (const name of ['b', 'a', 'b']) {
    await reconcile(name)
    await clock.turn(100)
    show()
  }
  t.same([holders(), said('a'), said('b')], [['a'], 'Resolved', 'AddressOfAnotherNode'])
})

t.test(
  'of two that another provider initialized the older one keeps it, whoever is decided on first',
  async (t) => {
    for (const order of [
      ['worker-1', 'worker-2'],
      ['worker-2', 'worker-1'],
    ]) {
      const { nodes, reconcile, show, holders, said, index } = setUp(t, ['worker-1', 'worker-2'])
      for (const [name, own] of nodes) {
        const creationTimestamp = name === 'worker-1' ? '2020-03-01T10:00:00Z' : '2025-03-01T10:00:00Z'
        const addresses = [{ type: 'InternalIP', address: ADDRESS }]
        const initialized = {
          ...own,
          creationTimestamp,
          addresses,
          taints: [],
          providerID: `vsphere://${own.systemUUID}`,
        }
        nodes.set(name, initialized)
        index.node(name, initialized)
      }
      for (const name of [...order, ...order]) {
        await reconcile(name)
        show()
      }
      t.same(holders(), ['worker-1'], order.join())
      t.equal(said('worker-2'), 'AddressOfAnotherNode')
    }
  },
)

t.test('it stays reserved while an agent reports again before the status is written', async (t) => {
  const { clock, reconcile, show, showing } = setUp(t, ['a', 'b'])
  await reconcile('a')
  // The watch shows a report without a status, as the agent has just written it.
  show()
  await reconcile('b')
  await clock.turn(100)
  t.same(showing(), ['a'])
})

t.test('a Node that goes before its status is written leaves nothing reserved', async (t) => {
  const { clock, nodes, forget, reconcile, show, showing, said } = setUp(t, ['a', 'b'])
  await reconcile('a')
  await reconcile('b')
  await clock.turn(100)
  t.same([showing(), said('b')], [['a'], 'AddressOfAnotherNode'])
  nodes.delete('a')
  forget('a')
  await reconcile('a')
  show()
  await reconcile('b')
  await clock.turn(100)
  t.same([showing(), said('b')], [['b'], 'Resolved'])
})

t.test('a Node whose machine is proven gone keeps no address reserved', async (t) => {
  const { clock, nodes, reports, vms, proofs, reconcile, show, said } = setUp(t, ['a', 'b'])
  for (const name of ['a', 'b', 'a']) {
    await reconcile(name)
    await clock.turn(100)
    show()
  }
  t.equal(said('b'), 'AddressOfAnotherNode')
  const [uuid = ''] = vms.keys()
  vms.delete(uuid)
  const [own, its] = [nodes.get('a'), reports.get('a')]
  if (own === undefined || its?.status.vm === undefined) throw new Error('it is bound')
  const silent = { ...own, ready: { status: 'Unknown', lastHeartbeatTime: '' } }
  nodes.set('a', silent)
  show()
  const about = { node: silent, report: its, settings: SETTINGS, now: NOW, monotonic: 0 }
  proofs.set('a', absence(about, { vm: its.status.vm, times: 1 }))
  await reconcile('a')
  await reconcile('b')
  await clock.turn(100)
  t.equal(said('b'), 'Resolved')
})

t.test('who waits for an address that was only reserved is told when it is given up', async (t) => {
  const { reports, vms, reconcile, woken } = setUp(t, ['a', 'b'])
  await reconcile('a')
  await reconcile('b')
  const [uuid = ''] = vms.keys()
  const [its, machine] = [reports.get('a'), vms.get(uuid)]
  if (its?.spec.ok !== true || machine === undefined) throw new Error('both are there')
  const addresses = [{ address: '10.0.0.6', prefixLength: 24 }]
  const interfaces = its.spec.value.interfaces.map((each) => ({ ...each, addresses }))
  const moved = { ok: true, value: { ...its.spec.value, interfaces } } as const
  reports.set('a', { ...its, resourceVersion: '9', spec: moved })
  vms.set(uuid, { ...machine, guestNICs: [{ mac: MAC, network: 'n', deviceConfigID: 4000, addresses }] })
  woken.length = 0
  await reconcile('a')
  t.same(woken, ['b'])
})

t.test('VMware Tools decide between the one that came first and the one that has it', async (t) => {
  const { clock, vms, nodes, reconcile, show, holders, said, woken } = setUp(t, ['first', 'owner'])
  const tools = (uuid: string, address: string) => {
    const machine = vms.get(uuid)
    if (machine === undefined) throw new Error('there is one')
    const addresses = [{ address, prefixLength: 24 }]
    vms.set(uuid, { ...machine, guestNICs: [{ mac: MAC, network: 'n', deviceConfigID: 4000, addresses }] })
  }
  const [one = '', two = ''] = [...vms.keys()]
  const settle = async (...order: readonly string[]) => {
    for (const name of order) {
      await reconcile(name)
      await clock.turn(100)
      show()
    }
  }
  await settle('first', 'first', 'owner')
  t.same([holders(), said('owner')], [['first'], 'AddressOfAnotherNode'])
  tools(two, ADDRESS)
  await settle('owner')
  t.same(holders(), ['first'], 'nothing is said against the first')
  tools(one, '10.0.0.99')
  woken.length = 0
  await settle('first')
  t.ok(woken.includes('owner'), 'who waits is told')
  woken.length = 0
  await settle('owner')
  t.ok(woken.includes('first'), 'and so is who loses it')
  await settle('first', 'owner', 'first')
  t.same([holders(), said('first'), said('owner')], [['owner'], 'AddressOfAnotherNode', 'Resolved'])
  t.match(nodes.get('first')?.addresses, [{}, { address: ADDRESS }], 'a running Node is not left without any')
  tools(one, ADDRESS)
  await settle('first', 'owner', 'first')
  t.same(holders(), ['owner'], 'it stays there')
})

for (const [name, keepsStatus] of [
  ['a --node-ip that it does not have', { providedNodeIP: '10.0.0.77' }],
  ['a report about another Node', { nodeUID: '99999999-2222-4333-8444-000000000000' }],
] as const)
  t.test(`a Node that has given up its address does not keep it by ${name}`, async (t) => {
    const stage = setUp(t, ['former', 'owner'])
    const { clock, nodes, reports, vms, reconcile, show, holders } = stage
    const [one = '', two = ''] = vms.keys()
    const settle = async (...order: readonly string[]) => {
      for (const each of order) {
        await reconcile(each)
        await clock.turn(100)
        show()
      }
    }
    /** What agent and VMware Tools of a machine say. */
    const has = (node: string, uuid: string, address: string, nodeUID?: string) => {
      const [its, machine] = [reports.get(node), vms.get(uuid)]
      if (its?.spec.ok !== true || machine === undefined) throw new Error('both are there')
      const addresses = [{ address, prefixLength: 24 }]
      const interfaces = its.spec.value.interfaces.map((each) => ({ ...each, addresses }))
      const value = { ...its.spec.value, interfaces, ...(nodeUID === undefined ? {} : { nodeUID }) }
      reports.set(node, { ...its, spec: { ok: true, value } })
      vms.set(uuid, {
        ...machine,
        guestNICs: [{ mac: MAC, network: 'n', deviceConfigID: 4000, addresses }],
      })
    }
    const change = (changes: Partial<Node>) => {
      const own = nodes.get('former')
      if (own === undefined) throw new Error('it is there')
      nodes.set('former', { ...own, ...changes })
      show()
    }
    const own = nodes.get('former')?.uid
    has('former', one, ADDRESS)
    await settle('former', 'former')
    t.same(holders(), ['former'])

    has('former', one, '10.0.0.6', 'nodeUID' in keepsStatus ? keepsStatus.nodeUID : own)
    change('providedNodeIP' in keepsStatus ? keepsStatus : { addresses: [] })
    await settle('former')
    has('owner', two, ADDRESS)
    await settle('owner', 'former', 'owner', 'former')
    t.same(holders(), ['owner'], 'its status does not give it a certificate for that')

    has('former', one, ADDRESS, own)
    change({ providedNodeIP: undefined })
    await settle('former', 'owner', 'former', 'owner')
    t.same(holders(), ['owner'], 'nor the address back')
  })
