import t, { type Test } from 'tap'
import type { Condition } from '../../agent/shared/node-report.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { NodeObject, ReportObject } from '../world/objects.ts'
import {
  checkEnding,
  checkForger,
  checkNode,
  differences,
  type EndingEvidence,
  type Snapshot,
} from './check.ts'

const UNINITIALIZED = { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }
const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
type Report = Pick<ReportObject, 'status'>

const vm: VcsimVM = {
  ref: 'vm-42',
  name: 'VM0',
  uuid: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  instanceUuid: '500e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  vnics: [],
  host: 'H0',
  cluster: 'DC0_C0',
  datacenter: 'DC0',
  powerState: 'poweredOn',
}
const planned = { name: 'worker-1', vm, address: '10.20.0.11', zone: 'zone-a', instanceType: 'vsphere-vm' }
const bound = {
  vCenter: 'main',
  vCenterInstanceUUID: '600e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  moref: 'vm-42',
  name: 'VM0',
  instanceUUID: vm.instanceUuid,
  biosUUID: vm.uuid,
  host: 'H0',
}
const labels = {
  'topology.kubernetes.io/zone': 'zone-a',
  'failure-domain.beta.kubernetes.io/zone': 'zone-a',
  'topology.kubernetes.io/region': 'region-1',
  'failure-domain.beta.kubernetes.io/region': 'region-1',
  'node.kubernetes.io/instance-type': 'vsphere-vm',
  'beta.kubernetes.io/instance-type': 'vsphere-vm',
}
const addresses = [
  { type: 'Hostname', address: 'worker-1' },
  { type: 'InternalIP', address: '10.20.0.11' },
  { type: 'ExternalIP', address: '10.20.0.11' },
]

function node(name: string, spec: NodeObject['spec'] = {}, more: Partial<NodeObject> = {}): NodeObject {
  const metadata = { name, uid: 'uid', resourceVersion: '1', labels }
  return { metadata, spec: { providerID: `vsphere://${vm.uuid}`, ...spec }, status: { addresses }, ...more }
}

/** The same without a provider ID. */
function unbound(name: string, spec: NodeObject['spec'] = {}): NodeObject {
  const { providerID: _, ...rest } = node(name, spec).spec
  return { ...node(name), spec: rest }
}

function condition(
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  message = '',
): Condition {
  return { type, status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' }
}

/** Each change is a problem of its own, which these words name. */
function eachIsOne(t: Test, cases: readonly (readonly [problems: readonly string[], words: RegExp])[]): void {
  for (const [problems, words] of cases) {
    t.equal(problems.length, 1, `${words}: ${problems.join(' | ')}`)
    t.match(problems[0], words)
  }
}

t.test('a Node that is as vCenter says has no problem', async (t) => {
  const status: Report['status'] = { identityLevel: 'proven', vm: bound }
  const tainted = node('worker-1', { taints: [UNINITIALIZED] })
  const notFound = condition('VMFound', 'False', 'NoSuchVM', 'look there')
  const check = (seen?: NodeObject, change: Report['status'] = {}) =>
    checkNode(planned, seen, { status: { ...status, ...change } })
  const labeled = (change: Record<string, string>, { ...kept }: Record<string, string> = labels) =>
    node('worker-1', {}, { metadata: { ...node('worker-1').metadata, labels: { ...kept, ...change } } })
  const { 'topology.kubernetes.io/zone': _, ...fewer } = labels
  t.same(check(node('worker-1', { taints: [SHUTDOWN] })), [])
  eachIsOne(t, [
    [check(), /not there/],
    [checkNode(planned, node('worker-1'), undefined), /no NodeReport/],
    [check(tainted), /still has the taint$/],
    [check(tainted, { conditions: [notFound] }), /still has the taint \(VMFound: NoSuchVM, look there\)/],
    [check(unbound('worker-1')), /provider ID is missing/],
    [check(labeled({}, fewer)), /zone is missing/],
    [
      check(labeled({ 'failure-domain.beta.kubernetes.io/region': 'r' })),
      /beta\.kubernetes\.io\/region is r, expected region-1/,
    ],
    [check(node('worker-1', {}, { status: { addresses: addresses.slice(1) } })), /addresses is Int/],
    [check(node('worker-1'), { identityLevel: 'reported' }), /is reported, expected/],
    [check(node('worker-1'), { vm: { ...bound, moref: 'vm-43' } }), /bound VM is vm-43, expected vm-42/],
  ])
})

function snapshot(nodes: readonly NodeObject[], reports: Readonly<Record<string, Report>> = {}): Snapshot {
  return {
    nodes: new Map(nodes.map((each) => [each.metadata.name, each])),
    reports: new Map(Object.entries(reports)),
  }
}

t.test('a forger that got nothing is no problem', async (t) => {
  const refusal = condition('IdentityVerified', 'False', 'ClaimedByAnotherNode', 'look for a forged report')
  const event = {
    type: 'Warning',
    reason: 'ClaimedByAnotherNode',
    involvedObject: { name: 'forger' },
  } as const
  const proven: Report = { status: { identityLevel: 'proven' } }
  const refused = unbound('forger', { taints: [UNINITIALIZED] })
  const victim = node('worker-1')
  const check = (
    nodes = [refused, victim],
    status: NonNullable<Report['status']> = { conditions: [refusal] },
    {
      events = [event] as Parameters<typeof checkForger>[2]['events'],
      report = proven,
      known = [victim],
    } = {},
  ) =>
    checkForger('forger', 'worker-1', {
      before: snapshot(known, known.length > 0 ? { 'worker-1': proven } : {}),
      after: snapshot(nodes, { forger: { status }, 'worker-1': report }),
      events,
    })
  const conditions = (change: Partial<Condition>) => ({ conditions: [{ ...refusal, ...change }] })
  t.same(check(), [])
  eachIsOne(t, [
    [check([victim]), /forger: the Node is not there/],
    [check([unbound('forger'), victim]), /lost the taint/],
    [check([node('forger', { taints: [UNINITIALIZED] }), victim]), /got the provider ID vsphere:\/\/4/],
    [check(undefined, {}), /IdentityVerified is missing, expected False, Cla/],
    [check(undefined, conditions({ status: 'True' })), /is True, ClaimedBy/],
    [check(undefined, conditions({ reason: 'MACsContradict' })), /is False, MACsContradict, expected/],
    [check(undefined, { ...conditions({}), identityLevel: 'reported' }), /level is reported/],
    [check(undefined, { ...conditions({}), vm: bound }), /bound to the VM VM0/],
    [check(undefined, undefined, { events: [] }), /no Warning ClaimedByAnotherNode/],
    [check(undefined, undefined, { events: [{ ...event, type: 'Normal' }] }), /no Warning/],
    [check([refused, node('worker-1', { taints: [] })]), /worker-1: its Node is not what it was/],
    [check([refused]), /worker-1: its Node is not what it was/],
    [
      check(undefined, undefined, { report: { status: { identityLevel: 'reported' } } }),
      /worker-1: its NodeReport is not what it was/,
    ],
  ])
  t.match(check(undefined, undefined, { known: [] }), [/its Node/, /its NodeReport/])
})

t.test('at the end, all is as it should be', async (t) => {
  const lacks = { message: 'the account lacks System.Read on Folder "vm" (group-2)' }
  const rest = [node('off', { taints: [SHUTDOWN] }), node('moved'), node('other')]
  const deletion = { type: 'Normal', reason: 'NodeDeleted', involvedObject: { name: 'gone' } } as const
  const shutdown = { type: 'Warning', reason: 'VMShutDown', involvedObject: { name: 'off' } } as const
  const right: EndingEvidence = {
    before: snapshot([node('gone'), node('off', { taints: [] }), node('moved'), node('other')]),
    after: snapshot(rest),
    events: [deletion, shutdown],
    deletedAfter: 4_000,
    said: [{ reason: 'NotConfirmed' }],
    taintedAfter: 300,
    moved: { reason: 'TopologyChanged' },
    lostFor: 10_000,
    whileLost: new Map(['off', 'moved', 'other'].map((name) => [name, lacks])),
  }
  const check = (change: Partial<EndingEvidence> = {}) =>
    checkEnding({ destroyed: 'gone', poweredOff: 'off', moved: 'moved' }, { ...right, ...change })
  const ends = (...nodes: NodeObject[]) => check({ after: snapshot([...rest, ...nodes]) })
  const without = (name: string) =>
    check({ after: snapshot(rest.filter(({ metadata }) => metadata.name !== name)) })
  t.same(check(), [])
  // The forger is bound to nothing and need not name a privilege.
  const forger = unbound('forger')
  const before = snapshot([...right.before.nodes.values(), forger])
  t.same(check({ before, after: snapshot([...rest, forger]) }), [])
  eachIsOne(t, [
    [ends(node('gone')), /^gone: the Node is there/],
    [check({ deletedAfter: 2_900 }), /^gone: .* before 3000 ms/],
    [check({ deletedAfter: 13_100 }), /^gone: .* after 13100 ms, expected/],
    [check({ events: [shutdown] }), /^gone: no Event NodeDeleted/],
    [check({ said: [] }), /^gone: DeletionPending never/],
    [ends(node('off', { taints: [] })), /^off: has no shutdown taint/],
    [ends(node('off', { taints: [{ ...SHUTDOWN, effect: 'NoExecute' }] })), /^off: has no shutdown taint/],
    [check({ taintedAfter: 3_100 }), /^off: was tainted after 3100 ms/],
    [check({ events: [deletion] }), /^off: no Warning/],
    [check({ moved: { reason: 'Resolved' } }), /^moved: .* Resolved, not Top/],
    [without('other'), /^other: the Node was deleted though its VM exists/],
    [without('moved'), /^moved: the Node was deleted/],
    [ends(node('other', { taints: [SHUTDOWN] })), /^other: .*changed: spec.taints/],
    [ends(node('off', { taints: [SHUTDOWN], providerID: 'x' })), /^off: .*changed: spec.providerID/],
    [ends(node('new')), /^new: the Node is new/],
    [check({ lostFor: 7_000 }), /away for 7000 ms/],
    [
      check({ whileLost: new Map([...right.whileLost, ['other', { message: '' }]]) }),
      /^other: DeletionPending did not name/,
    ],
  ])
})

t.test(
  'two states of a Node differ by their paths, but for what every write changes and Ready',
  async (t) => {
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'DiskPressure', status: 'False' },
    ]
    const taints = [{ key: 'k', effect: 'NoSchedule' }]
    const first = node('n', { taints }, { status: { addresses, conditions } })
    const { metadata, spec, status } = first
    const later = { ...metadata, resourceVersion: '2', managedFields: [{ manager: 'm' }] }
    const unknown = conditions.map((each) => (each.type === 'Ready' ? { ...each, status: 'Unknown' } : each))
    t.same(differences(first, { ...first, metadata: later, status: { ...status, conditions: unknown } }), [])
    const cases: [NodeObject, string[]][] = [
      [{ ...first, metadata: { ...metadata, labels: { ...labels, zone: 'b' } } }, ['metadata.labels']],
      [
        { ...first, metadata: { ...metadata, name: 'm' }, spec: {} },
        ['metadata.name', 'spec.providerID', 'spec.taints'],
      ],
      [{ ...first, spec: { ...spec, taints: [] } }, ['spec.taints']],
      [{ ...first, spec: { taints } }, ['spec.providerID']],
      [{ ...first, status: { ...status, addresses: [] } }, ['status.addresses']],
      [{ ...first, status: { ...status, conditions: conditions.slice(0, 1) } }, ['status.conditions']],
    ]
    for (const [after, paths] of cases) t.same(differences(first, after).toSorted(), paths.toSorted())
  },
)
