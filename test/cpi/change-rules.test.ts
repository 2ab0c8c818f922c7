/** That the differential's rules notice what becomes of a Node by a change and should not, and only that. */
import t from 'tap'
import type { Condition } from '../../agent/shared/node-report.ts'
import type { NodeObject } from '../world/objects.ts'
import { brokenByChange } from './change-rules.ts'
import { afterChange, withChange } from './changes.ts'
import { at, BEFORE, type Change, NO_LIFECYCLE, type Scenario, type ScenarioCase } from './scenario.ts'

const UUID = '564d0000-1111-4222-8333-444444444444'
const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const LEVEL = 'rollcall.node-restriction.kubernetes.io/identity-level'
const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
const ONE: ScenarioCase = { name: 'one', vm: at('10.0.0.5/24', '192.0.2.5/24'), node: BEFORE }
const SCENARIO: Scenario = {
  name: 'a scenario',
  tags: [{ object: 'DC0_C0', label: 'zone', tag: 'zone-1' }],
  cases: [],
}
const TOLD: readonly Condition[] = [
  {
    type: 'TopologyResolved',
    status: 'False',
    reason: 'TopologyChanged',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  },
]

function nodeOf(
  labels: Readonly<Record<string, string>> = { [ZONE]: 'zone-1', [BETA_ZONE]: 'zone-1' },
  addresses: readonly string[] = ['10.0.0.5'],
): NodeObject {
  return {
    metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels: { [LEVEL]: 'asserted', ...labels } },
    spec: { providerID: `vsphere://${UUID}`, taints: [] },
    status: {
      addresses: [
        { type: 'Hostname', address: 'n' },
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
      ],
    },
  }
}

function tainted(node: NodeObject, ...taints: NonNullable<NodeObject['spec']['taints']>): NodeObject {
  return { ...node, spec: { ...node.spec, taints } }
}

/** What is broken where a Node has become this one. */
function after(
  node: NodeObject | undefined,
  change: Omit<Change, 'name'> = {},
  {
    scenario = {},
    one = ONE,
    before = nodeOf(),
    said = [],
  }: {
    readonly scenario?: Partial<Scenario>
    readonly one?: ScenarioCase
    readonly before?: NodeObject
    readonly said?: readonly Condition[]
  } = {},
): readonly string[] {
  const named = { name: 'a change', ...change }
  const changed = afterChange(one, named, before)
  return brokenByChange(node, {
    scenario: { ...SCENARIO, ...scenario, cases: [changed] },
    one: changed,
    uuid: UUID,
    change: named,
    before: withChange(before, named),
    said,
  })
}

t.test('nothing moves that need not move', (t) => {
  t.strictSame(after(nodeOf()), [])
  t.match(after({ ...nodeOf(), spec: { providerID: 'vsphere://' } }), [/its provider ID/])
  t.match(after(nodeOf({ [ZONE]: 'far', [BETA_ZONE]: 'zone-1' }), {}, { said: TOLD }), [/its label topology/])
  t.match(after(nodeOf(undefined, ['192.0.2.5'])), [/it lost the address 10\.0\.0\.5/])
  t.match(after(nodeOf(undefined, ['10.9.9.9'])), [/10\.9\.9\.9 is none/, /it lost/])
  t.strictSame(after(nodeOf(undefined, ['192.0.2.5']), at('192.0.2.5/24')), [], 'which the machine has not')
  const renamed = nodeOf()
  renamed.status.addresses = renamed.status.addresses?.slice(1) ?? []
  t.match(after(renamed, { hostName: 'localhost' }), [/its list of names/])
  const dedicated = { key: 'example.com/dedicated', effect: 'NoSchedule' }
  t.match(after(nodeOf(), { taint: 'other' }), [/its taint example.com\/dedicated/])
  t.strictSame(after(tainted(nodeOf(), dedicated), { taint: 'other' }), [])
  t.end()
})

t.test('tags and sizes', (t) => {
  const own: ScenarioCase = { ...ONE, vm: { ...ONE.vm, place: 'second-datacenter' } }
  const tags = { zone: 'own' }
  const none = nodeOf({})
  t.match(after(none, { tags }, { one: own, before: none }), [/its label topology/, /its label failure/])
  t.strictSame(after(nodeOf({ [ZONE]: 'own', [BETA_ZONE]: 'own' }), { tags }, { one: own, before: none }), [])
  t.match(after(nodeOf(), { tags }, { one: own }), [/not tell.*topology/, /not tell.*failure/])
  t.strictSame(after(nodeOf(), { tags }, { one: own, said: TOLD }), [])
  const type = nodeOf({ 'node.kubernetes.io/instance-type': 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu' })
  const size = { cpus: 4, memoryMB: 4096 }
  const lacking = { scenario: { labels: [] }, before: type }
  t.match(after(type, size, lacking), [/not tell.*instance-type/])
  t.strictSame(after(type, size, { ...lacking, said: TOLD }), [])
  t.end()
})

t.test('the taint of a machine that is off', (t) => {
  const off = tainted(nodeOf(), SHUTDOWN)
  t.match(after(nodeOf(), { powerState: 'poweredOff' }), [/its shutdown taint is false/])
  t.strictSame(after(off, { powerState: 'poweredOff' }), [])
  t.match(after(off, { powerState: 'poweredOn' }, { before: off }), [/its shutdown taint is true/])
  t.strictSame(after(nodeOf(), { powerState: 'poweredOff' }, { scenario: { arguments: [NO_LIFECYCLE] } }), [])
  t.match(after(off, { taint: 'shutdown' }), [/its shutdown taint is true/], 'its machine runs')
  t.strictSame(after(nodeOf(), { taint: 'shutdown' }), [])
  t.end()
})

t.test('a machine that is gone', (t) => {
  const gone = { gone: true, ready: 'Unknown' } as const
  t.strictSame(after(nodeOf(), gone), [])
  t.match(after(undefined, gone), [/that it is deleted is true/])
  const scenario = { lifecycle: { absentFor: '3s' } }
  t.strictSame(after(undefined, gone, { scenario }), [])
  t.match(after(nodeOf(), gone, { scenario }), [/that it is deleted is false/])
  t.match(after(undefined, { gone: true }, { scenario }), [/that it is deleted is true/], 'it is Ready')
  t.end()
})

t.test('a Node that is to be initialized again', (t) => {
  const usual: ScenarioCase = { name: 'usual', node: BEFORE }
  const old = nodeOf({ [ZONE]: 'zone-0', [BETA_ZONE]: 'zone-0' })
  const asks = { taint: 'uninitialized' } as const
  t.strictSame(after(nodeOf(), asks, { one: usual, before: old }), [])
  t.match(after(old, asks, { one: usual, before: old, said: TOLD }), [
    /its label topology/,
    /its label failure/,
  ])
  const waits = withChange(old, { name: '', ...asks })
  t.match(after(waits, asks, { one: usual, before: old }), [/it is not initialized/])
  t.match(after(nodeOf(undefined, ['192.0.2.5']), asks), [/it lost the address/], 'it keeps its addresses')
  t.end()
})
