import t, { type Test } from 'tap'
import type { NodeReportStatus } from '../../agent/shared/node-report.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { NodeObject, ReportObject } from '../world/objects.ts'
import { checkEnding, checkForger, checkNode, differences, type Snapshot } from './check.ts'

const UNINITIALIZED = { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }
const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
const providerID = 'vsphere://420e'
// What the checks read of a VM, and of a report.
const vm = { ref: 'vm-42', name: 'VM0', uuid: '420e', host: 'H0' } as VcsimVM
const bound = { moref: 'vm-42', name: 'VM0', host: 'H0' } as NonNullable<NodeReportStatus['vm']>
const proven: NodeReportStatus = { identityLevel: 'proven', vm: bound }
const both = (prefixes: string, label: string, value: string) =>
  Object.fromEntries(prefixes.split(' ').map((prefix) => [`${prefix}.kubernetes.io/${label}`, value]))
const labels = {
  ...both('topology failure-domain.beta', 'zone', 'zone-a'),
  ...both('topology failure-domain.beta', 'region', 'region-1'),
  ...both('node beta', 'instance-type', 'vsphere-vm'),
}
const addresses = [
  { type: 'Hostname', address: 'worker-1' },
  { type: 'InternalIP', address: '10.20.0.11' },
  { type: 'ExternalIP', address: '10.20.0.11' },
]

function node(name: string, spec: NodeObject['spec'] = { providerID }, changed: object = {}): NodeObject {
  const metadata = { name, uid: 'uid', resourceVersion: '1', labels: { ...labels, ...changed } }
  return { metadata, spec, status: { addresses } }
}

function snapshot(
  nodes: readonly NodeObject[],
  reports: Readonly<Record<string, NodeReportStatus>> = {},
): Snapshot {
  return {
    nodes: new Map(nodes.map((each) => [each.metadata.name, each])),
    reports: new Map(Object.entries(reports).map(([name, status]) => [name, { status } as ReportObject])),
  }
}

/** Each change is a problem of its own, which these words name. */
function eachIsOne(t: Test, cases: readonly (readonly [problems: readonly string[], words: RegExp])[]): void {
  for (const [problems, words] of cases) {
    t.equal(problems.length, 1, `${words}: ${problems.join(' | ')}`)
    t.match(problems[0], words)
  }
}

t.test('a Node that is as vCenter says has no problem', async (t) => {
  const planned = { name: 'worker-1', vm, address: '10.20.0.11', zone: 'zone-a', instanceType: 'vsphere-vm' }
  const check = (seen: NodeObject, status: NodeReportStatus = {}) =>
    checkNode(planned, snapshot([seen], { 'worker-1': { ...proven, ...status } }))
  t.same(check(node('worker-1', { providerID, taints: [SHUTDOWN] })), [])
  eachIsOne(t, [
    [check(node('other')), /not there/],
    [check(node('worker-1', { providerID, taints: [UNINITIALIZED] })), /still has the taint/],
    [check(node('worker-1', {})), /providerID is missing/],
    ...Object.keys(labels).map(
      (label) => [check(node('worker-1', undefined, { [label]: 'x' })), /is x/] as const,
    ),
    [check({ ...node('worker-1'), status: {} }), /addresses is missing/],
    [check(node('worker-1'), { identityLevel: 'reported' }), /is reported, expected/],
    [check(node('worker-1'), { vm: { ...bound, moref: 'vm-43' } }), /VM is vm-43, expected vm-42/],
  ])
})

t.test('a forger that got nothing is no problem', async (t) => {
  const tainted = node('forger', { taints: [UNINITIALIZED] })
  const refusal = { type: 'IdentityVerified', status: 'False', reason: 'ClaimedByAnotherNode' } as const
  const refused = { conditions: [{ ...refusal, message: '', lastTransitionTime: '' }] }
  const before = snapshot([node('worker-1')], { 'worker-1': proven })
  const check = (
    forger = tainted,
    status: NodeReportStatus = refused,
    victim = node('worker-1'),
    report = proven,
  ) =>
    checkForger(
      'forger',
      'worker-1',
      before,
      snapshot([forger, victim], { forger: status, 'worker-1': report }),
    )
  t.same(check(), [])
  eachIsOne(t, [
    [check(node('other')), /forger: tainted is false/],
    [check(node('forger', {})), /tainted is false/],
    [check(node('forger', { providerID, taints: [UNINITIALIZED] })), /providerID is vsphere:\/\/4/],
    [check(tainted, {}), /IdentityVerified is undefined/],
    [check(tainted, { ...refused, identityLevel: 'reported' }), /level is reported/],
    [check(tainted, { ...refused, vm: bound }), /VM is VM0/],
    [check(tainted, refused, node('worker-1', {})), /worker-1: Node is/],
    [check(tainted, refused, node('worker-1'), { vm: bound }), /worker-1: NodeReport is/],
  ])
})

t.test('in the end one Node is gone, one is tainted, and nothing happened to the others', async (t) => {
  const others = [node('off', { taints: [SHUTDOWN] }), node('moved')]
  const before = snapshot([node('gone'), node('off', {}), node('moved')])
  const check = (...after: NodeObject[]) =>
    checkEnding('gone', 'off', before, snapshot([...others, ...after]))
  t.same(check(), [])
  eachIsOne(t, [
    [check(node('gone')), /^gone: the Node is there/],
    [check(node('off', {})), /^off: isShutDown is false/],
    [check(node('off', { taints: [SHUTDOWN], providerID })), /^off: .*changed: spec.providerID/],
    [check(node('moved', {})), /^moved: .*changed: spec.providerID/],
    [check(node('new')), /^new: the Node is new/],
    [checkEnding('gone', 'off', before, snapshot(others.slice(0, 1))), /^moved: the Node was deleted/],
  ])
})

t.test(
  'two states of a Node differ by their paths, but for what every write changes and Ready',
  async (t) => {
    const first = node('n')
    const { metadata, status } = first
    const conditions = [{ type: 'Ready', status: 'Unknown' }]
    const written = { ...metadata, resourceVersion: '2', managedFields: [{ manager: 'm' }] }
    t.same(differences(first, { ...first, metadata: written, status: { ...status, conditions } }), [])
    const pressure = [{ type: 'DiskPressure', status: 'True' }]
    const later = {
      metadata: { ...metadata, labels: {} },
      spec: {},
      status: { addresses: [], conditions: pressure },
    }
    t.same(differences(first, later), [
      'metadata.labels',
      'spec.providerID',
      'status.addresses',
      'status.conditions',
    ])
  },
)
