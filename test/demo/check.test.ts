import t from 'tap'
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

function relabeled(name: string, change: (labels: Record<string, string>) => void): NodeObject {
  const changed = node(name)
  changed.metadata = { ...changed.metadata, labels: { ...labels } }
  change(changed.metadata.labels)
  return changed
}

function condition(
  type: Condition['type'],
  status: Condition['status'],
  reason: string,
  message = '',
): Condition {
  return { type, status, reason, message, lastTransitionTime: '2026-01-01T00:00:00Z' }
}

t.test('a Node that is as vCenter says has no problem, and each difference is one of its own', async (t) => {
  const right: Report = { status: { identityLevel: 'proven', vm: bound } }
  const status = right.status ?? {}
  const tainted = node('worker-1', { taints: [UNINITIALIZED] })
  const notFound = condition('VMFound', 'False', 'NoSuchVM', 'look there')
  t.same(checkNode(planned, node('worker-1', { taints: [SHUTDOWN] }), right), [])
  const cases: [string, NodeObject | undefined, Report | undefined, RegExp][] = [
    ['no Node', undefined, right, /not there/],
    ['no report', node('worker-1'), undefined, /no NodeReport/],
    ['tainted', tainted, right, /still has the taint$/],
    [
      'tainted, and why',
      tainted,
      { status: { ...status, conditions: [notFound] } },
      /still has the taint \(VMFound: NoSuchVM, look there\)/,
    ],
    ['no provider ID', unbound('worker-1'), right, /provider ID is missing/],
    [
      'a label is missing',
      relabeled('worker-1', (all) => delete all['topology.kubernetes.io/zone']),
      right,
      /zone is missing/,
    ],
    [
      'a beta label differs',
      relabeled('worker-1', (all) => Object.assign(all, { 'failure-domain.beta.kubernetes.io/region': 'r' })),
      right,
      /beta\.kubernetes\.io\/region is r, expected region-1/,
    ],
    [
      'an address is missing',
      node('worker-1', {}, { status: { addresses: addresses.slice(1) } }),
      right,
      /addresses is Int/,
    ],
    [
      'not proven',
      node('worker-1'),
      { status: { ...status, identityLevel: 'reported' } },
      /is reported, expected/,
    ],
    [
      'another VM',
      node('worker-1'),
      { status: { ...status, vm: { ...bound, moref: 'vm-43' } } },
      /bound VM is vm-43, expected vm-42/,
    ],
  ]
  for (const [name, seen, report, problem] of cases) {
    const problems = checkNode(planned, seen, report)
    t.equal(problems.length, 1, name)
    t.match(problems[0], problem, name)
  }
})

function snapshot(nodes: readonly NodeObject[], reports: Readonly<Record<string, Report>> = {}): Snapshot {
  return {
    nodes: new Map(nodes.map((each) => [each.metadata.name, each])),
    reports: new Map(Object.entries(reports)),
  }
}

t.test(
  'a forger that got nothing is no problem, and each thing that it got, and each harm, is one',
  async (t) => {
    const refusal = condition('IdentityVerified', 'False', 'ClaimedByAnotherNode', 'look for a forged report')
    const event = {
      type: 'Warning',
      reason: 'ClaimedByAnotherNode',
      involvedObject: { name: 'forger' },
    } as const
    const victim: Report = { status: { identityLevel: 'proven' } }
    const refused = unbound('forger', { taints: [UNINITIALIZED] })
    const seen = (
      change: {
        nodes?: NodeObject[]
        status?: Report['status']
        victim?: Report
        events?: (typeof event)[]
      } = {},
    ) => ({
      before: snapshot([node('worker-1')], { 'worker-1': victim }),
      after: snapshot(change.nodes ?? [refused, node('worker-1')], {
        forger: {
          status: { conditions: [refusal] },
          ...('status' in change ? { status: change.status ?? {} } : {}),
        },
        'worker-1': change.victim ?? victim,
      }),
      events: change.events ?? [event],
    })
    t.same(checkForger('forger', 'worker-1', seen()), [])
    const cases: [string, Parameters<typeof seen>[0], RegExp][] = [
      ['no Node', { nodes: [node('worker-1')] }, /forger: the Node is not there/],
      ['no taint', { nodes: [unbound('forger'), node('worker-1')] }, /lost the taint/],
      [
        'a provider ID',
        { nodes: [node('forger', { taints: [UNINITIALIZED] }), node('worker-1')] },
        /got the provider ID vsphere:\/\/4/,
      ],
      ['no condition', { status: {} }, /IdentityVerified is missing, expected False, Cla/],
      ['believed', { status: { conditions: [{ ...refusal, status: 'True' }] } }, /is True, ClaimedBy/],
      [
        'refused for another reason',
        { status: { conditions: [{ ...refusal, reason: 'MACsContradict' }] } },
        /is False, MACsContradict, expected/,
      ],
      ['a level', { status: { conditions: [refusal], identityLevel: 'reported' } }, /level is reported/],
      ['a VM', { status: { conditions: [refusal], vm: bound } }, /bound to the VM VM0/],
      ['no Event', { events: [] }, /no Warning ClaimedByAnotherNode/],
      ['another Event', { events: [{ ...event, type: 'Normal' as 'Warning' }] }, /no Warning/],
      [
        'the Node touched',
        { nodes: [refused, node('worker-1', { taints: [] })] },
        /worker-1: its Node is not/,
      ],
      ['the Node gone', { nodes: [refused] }, /worker-1: its Node is not what it was/],
      [
        'the report touched',
        { victim: { status: { identityLevel: 'reported' } } },
        /worker-1: its NodeReport is not what it was/,
      ],
    ]
    for (const [name, change, problem] of cases) {
      const problems = checkForger('forger', 'worker-1', seen(change))
      t.equal(problems.length, 1, `${name}: ${problems.join(' | ')}`)
      t.match(problems[0], problem, name)
    }
    const unknown = { ...seen(), before: snapshot([]) }
    t.match(checkForger('forger', 'worker-1', unknown), [/its Node/, /its NodeReport/])
  },
)

t.test('at the end, each thing that is not as it should be is a problem of its own', async (t) => {
  const roles = { destroyed: 'gone', poweredOff: 'off', moved: 'moved' }
  const lacks = { message: 'the account lacks System.Read on Folder "vm" (group-2)' }
  const off = node('off', { taints: [SHUTDOWN] })
  const rest = [off, node('moved'), node('other')]
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
  const ends = (...nodes: NodeObject[]) => ({ after: snapshot([...rest, ...nodes]) })
  const without = (name: string) => ({
    after: snapshot(rest.filter(({ metadata }) => metadata.name !== name)),
  })
  t.same(checkEnding(roles, right), [])
  // The forger is bound to nothing and need not name a privilege.
  const forger = unbound('forger')
  const withForger = {
    before: snapshot([...right.before.nodes.values(), forger]),
    after: snapshot([...rest, forger]),
  }
  t.same(checkEnding(roles, { ...right, ...withForger }), [])
  const cases: [string, Partial<EndingEvidence>, RegExp][] = [
    ['not deleted', ends(node('gone')), /^gone: the Node is there/],
    ['too early', { deletedAfter: 2_900 }, /^gone: .* before 3000 ms/],
    ['too late', { deletedAfter: 13_100 }, /^gone: .* after 13100 ms, expected/],
    ['without an Event', { events: [shutdown] }, /^gone: no Event NodeDeleted/],
    ['without a word', { said: [] }, /^gone: DeletionPending never/],
    ['not tainted', ends(node('off', { taints: [] })), /^off: has no shutdown taint/],
    [
      'with a wrong effect',
      ends(node('off', { taints: [{ ...SHUTDOWN, effect: 'NoExecute' }] })),
      /^off: has no shutdown taint/,
    ],
    ['tainted late', { taintedAfter: 3_100 }, /^off: was tainted after 3100 ms/],
    ['no Warning', { events: [deletion] }, /^off: no Warning/],
    ['not reported', { moved: { reason: 'Resolved' } }, /^moved: .* Resolved, not Top/],
    ['another was deleted', without('other'), /^other: the Node was deleted though its VM exists/],
    ['the moved one was deleted', without('moved'), /^moved: the Node was deleted/],
    ['another was changed', ends(node('other', { taints: [SHUTDOWN] })), /^other: .*changed: spec.taints/],
    [
      'more than the taint was changed',
      ends(node('off', { taints: [SHUTDOWN], providerID: 'vsphere://x' })),
      /^off: .*changed: spec.providerID/,
    ],
    ['a new one', ends(node('new')), /^new: the Node is new/],
    ['too short', { lostFor: 7_000 }, /away for 7000 ms/],
    [
      'the privilege is not named',
      { whileLost: new Map([...right.whileLost, ['other', { message: '' }]]) },
      /^other: DeletionPending did not name/,
    ],
  ]
  for (const [name, change, problem] of cases) {
    const problems = checkEnding(roles, { ...right, ...change })
    t.equal(problems.length, 1, `${name}: ${problems.join(' | ')}`)
    t.match(problems[0], problem, name)
  }
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
    const relabeledTo = (changed: object) => ({ ...first, metadata: { ...metadata, labels: { ...changed } } })
    const { 'topology.kubernetes.io/zone': zone, ...others } = labels
    const cases: [NodeObject, string[]][] = [
      [
        relabeledTo({ ...labels, 'topology.kubernetes.io/zone': 'b' }),
        ['metadata.labels.topology.kubernetes.io/zone'],
      ],
      [relabeledTo(others), ['metadata.labels.topology.kubernetes.io/zone']],
      [relabeledTo({ ...others, 'topology.kubernetes.io/zone': zone }), ['metadata.labels']],
      [{ ...first, spec: { ...spec, taints: [] } }, ['spec.taints']],
      [{ ...first, spec: { taints } }, ['spec.providerID']],
      [{ ...first, status: { ...status, addresses: [] } }, ['status.addresses']],
      [{ ...first, status: { ...status, conditions: conditions.slice(0, 1) } }, ['status.conditions']],
      [
        { ...first, metadata: { ...metadata, name: 'm' }, spec: {} },
        ['spec.providerID', 'spec.taints', 'metadata.name'],
      ],
    ]
    for (const [after, paths] of cases) t.same(differences(first, after).toSorted(), paths.toSorted())
  },
)
