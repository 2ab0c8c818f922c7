/** That the differential's rules notice what is wrong on a Node, and only that. */
import t from 'tap'
import type { NodeObject } from '../world/objects.ts'
import { brokenAtFirst, brokenRules, labelValueOf } from './documented-rules.ts'
import { at, BEFORE, NO_LIFECYCLE, type Scenario, type ScenarioCase } from './scenario.ts'

const UUID = '564d0000-1111-4222-8333-444444444444'
const ZONE = 'topology.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const TYPE = 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu'
const ONE: ScenarioCase = {
  name: 'one',
  vm: { ...at('10.0.0.5/24', '192.0.2.5/24', 'fd00::5/64'), cpus: 4, memoryMB: 16_500 },
}
const SCENARIO: Scenario = {
  name: 'a scenario',
  tags: [
    { object: 'DC0', label: 'zone', tag: 'far' },
    { object: 'DC0_C0', label: 'zone', tag: 'zone 1' },
  ],
  cases: [ONE],
}

/** A Node as it should be. */
function nodeOf(
  addresses: Readonly<Record<'InternalIP' | 'ExternalIP', readonly string[]>> = {
    InternalIP: ['10.0.0.5'],
    ExternalIP: ['10.0.0.5'],
  },
  labels: Readonly<Record<string, string>> = {},
): NodeObject {
  return {
    metadata: {
      name: 'n',
      uid: 'u',
      resourceVersion: '1',
      labels: {
        [ZONE]: 'zone-1',
        [BETA_ZONE]: 'zone-1',
        'node.kubernetes.io/instance-type': TYPE,
        'beta.kubernetes.io/instance-type': TYPE,
        ...labels,
      },
    },
    spec: { providerID: `vsphere://${UUID}`, taints: [] },
    status: {
      addresses: [
        { type: 'Hostname', address: 'n' },
        ...(['InternalIP', 'ExternalIP'] as const).flatMap((type) =>
          addresses[type].map((address) => ({ type, address })),
        ),
      ],
    },
  }
}

function broken(
  node: NodeObject,
  scenario: Omit<Scenario, 'name' | 'cases'> = {},
  one: ScenarioCase = ONE,
): readonly string[] {
  return brokenRules(node, { scenario: { ...SCENARIO, ...scenario, cases: [one] }, one, uuid: UUID })
}

const both = (...addresses: string[]) => ({ InternalIP: addresses, ExternalIP: addresses })

t.test('provider ID and labels', (t) => {
  const node = nodeOf()
  t.strictSame(broken(node), [])
  t.match(broken({ ...node, spec: { taints: [] } }), [/its provider ID is undefined/])
  t.match(broken({ ...node, spec: { providerID: `vsphere://${UUID.toUpperCase()}` } }), [/its provider ID/])
  t.strictSame(
    broken({ ...node, spec: { providerID: 'as it was' } }, {}, { ...ONE, node: { providerID: 'upper' } }),
    [],
  )
  t.match(broken(nodeOf(undefined, { [ZONE]: 'far' })), [/its label topology.*"far", not "zone-1"/])
  t.match(broken(nodeOf(undefined, { [BETA_ZONE]: 'far' })), [/its label failure-domain/])
  const region = { [REGION]: 'of-kubelet' }
  t.match(broken(nodeOf(undefined, region)), [/its label topology.*region is "of-kubelet", not undefined/])
  t.strictSame(broken(nodeOf(undefined, region), {}, { ...ONE, node: { labels: region } }), [], 'no tag')
  t.match(broken(nodeOf(), {}, { ...ONE, node: { labels: region } }), [
    /its label topology.*not "of-kubelet"/,
  ])
  t.equal(broken(nodeOf(), { labels: ['region'] }).length, 2, 'which is not configured')
  const kept: ScenarioCase = { ...ONE, node: { labels: { [ZONE]: 'mine' }, topologyKeys: [ZONE] } }
  t.strictSame(broken(nodeOf(undefined, { [ZONE]: 'mine' }), {}, kept), [], "the CSI driver's stays")
  t.match(broken(nodeOf(), {}, kept), [/its label topology.*"zone-1", not "mine"/])
  t.match(broken(nodeOf(undefined, { 'node.kubernetes.io/instance-type': 'other' })), [/is other/])
  const tags = [
    { object: 'DC0', label: 'zone', tag: 'b' },
    { object: 'DC0', label: 'zone', tag: 'a' },
  ] as const
  const zone = (value: string) => nodeOf(undefined, { [ZONE]: value, [BETA_ZONE]: value })
  t.strictSame(broken(zone('a'), { tags }), [], 'the first by name')
  t.equal(broken(zone('b'), { tags }).length, 2)
  t.strictSame(
    broken(zone('b'), { tags }, { ...ONE, node: { labels: { [ZONE]: 'b' } } }),
    [],
    "the Node's own",
  )
  const args = { arguments: ['--node-labels=a=1,b=2', '--node-labels=b=3'] }
  t.strictSame(broken(nodeOf(undefined, { a: '1', b: '3' }), args), [])
  t.match(broken(nodeOf(undefined, { a: '1', b: '2' }), args), [/its label b/])
  t.end()
})

t.test('a taint of somebody else', (t) => {
  const node = nodeOf()
  const taints = [{ key: 'example.com/dedicated', effect: 'NoSchedule' }]
  const tainted = { ...node, spec: { ...node.spec, taints } }
  const one = { ...ONE, node: { otherTaint: true } }
  t.strictSame(broken(tainted, {}, one), [])
  t.match(broken(node, {}, one), [/its taint example.com\/dedicated is false/])
  t.match(broken(tainted), [/its taint example.com\/dedicated is true/])
  t.end()
})

t.test('the value of a label', (t) => {
  t.equal(labelValueOf('zone 1 / left'), 'zone-1-left')
  t.equal(labelValueOf('zürich'), 'zurich')
  t.equal(labelValueOf('北京-1'), undefined)
  t.equal(labelValueOf('z'.repeat(64)), undefined)
  t.end()
})

t.test('addresses: the machine, families and exclusions', (t) => {
  t.match(broken(nodeOf(both())), [/it has no address/, /its InternalIP/, /its ExternalIP/])
  const noName = nodeOf()
  t.match(broken({ ...noName, status: { addresses: noName.status.addresses?.slice(1) ?? [] } }), [
    /its list of names is \[\]/,
  ])
  t.match(broken(nodeOf({ InternalIP: ['10.9.9.9'], ExternalIP: ['10.0.0.5'] })), [
    /10\.9\.9\.9 is none of its machine/,
    /its InternalIP is/,
  ])
  t.match(broken(nodeOf({ InternalIP: ['fd00::5'], ExternalIP: ['10.0.0.5'] })), [
    /fd00::5 is of no configured family/,
    /its InternalIP is/,
  ])
  const two = { ipFamily: ['ipv6', 'ipv4'] } as const
  t.strictSame(broken(nodeOf(both('fd00::5', '10.0.0.5')), two), [])
  t.match(
    broken(nodeOf(both('10.0.0.5', 'fd00::5')), two),
    [/its InternalIP/, /its ExternalIP/],
    'their order',
  )
  t.match(broken(nodeOf(), two, { ...ONE, vm: { ...ONE.vm, ...at('10.0.0.5/24') } }), [/wait for ipv6/])
  t.match(broken(nodeOf({ InternalIP: ['10.0.0.5', '192.0.2.5'], ExternalIP: ['10.0.0.5'] })), [
    /InternalIP twice of one family/,
    /its InternalIP is/,
  ])
  const nodes = { excludeInternalNetworkSubnetCidr: '10.0.0.0/8' }
  t.match(broken(nodeOf(), { nodes }), [/InternalIP 10\.0\.0\.5 is excluded/, /its InternalIP is/])
  t.strictSame(broken(nodeOf({ InternalIP: ['192.0.2.5'], ExternalIP: ['10.0.0.5'] }), { nodes }), [])
  t.end()
})

t.test('addresses: subnets, networks, static ones, and the kubelet', (t) => {
  const subnet = { nodes: { internalNetworkSubnetCidr: '203.0.113.0/24,192.0.2.0/24' } }
  t.strictSame(broken(nodeOf({ InternalIP: ['192.0.2.5'], ExternalIP: [] }), subnet), [])
  t.match(broken(nodeOf(), subnet), [/its InternalIP/, /its ExternalIP/])
  const one: ScenarioCase = {
    ...ONE,
    vm: {
      ...ONE.vm,
      nics: [
        { network: 'a', addresses: ['10.0.0.5/24'] },
        { network: 'B', addresses: ['192.0.2.5/24'] },
      ],
    },
  }
  const network = { nodes: { externalVmNetworkName: 'b' } }
  t.strictSame(broken(nodeOf({ InternalIP: [], ExternalIP: ['192.0.2.5'] }), network, one), [])
  t.match(broken(nodeOf(), network, one), [/its InternalIP/, /its ExternalIP/])
  const fixed: ScenarioCase = {
    ...ONE,
    vm: { ...ONE.vm, staticAddresses: ['192.0.2.5/64'], staticOf: 'vlans' },
  }
  t.strictSame(broken(nodeOf(both('192.0.2.5')), {}, fixed), [])
  t.equal(broken(nodeOf(), {}, fixed).length, 2)
  const kubelets: ScenarioCase = { ...ONE, node: { nodeIP: '192.0.2.5' } }
  t.strictSame(broken(nodeOf({ InternalIP: ['192.0.2.5'], ExternalIP: ['10.0.0.5'] }), {}, kubelets), [])
  t.match(broken(nodeOf(), {}, kubelets), [/it lacks the kubelet's 192/, /its first address/])
  t.match(broken(nodeOf({ InternalIP: ['192.0.2.5', '10.0.0.5'], ExternalIP: [] }), {}, kubelets), [
    /twice/,
    /beside the kubelet's/,
  ])
  t.strictSame(broken(nodeOf(), {}, { ...ONE, node: { nodeIP: '::' } }), [], 'which is no address')
  t.end()
})

t.test('of two machines with one UUID, the one that runs', (t) => {
  const off: ScenarioCase = {
    name: 'off',
    vm: { uuidOfPrevious: true, powerState: 'poweredOff', ...at('10.0.0.6/24') },
  }
  const scenario = { ...SCENARIO, cases: [ONE, off] }
  t.strictSame(brokenRules(nodeOf(), { scenario, one: off, uuid: UUID }), [])
  t.match(brokenRules(nodeOf(both('10.0.0.6')), { scenario, one: ONE, uuid: UUID }), [
    /10\.0\.0\.6 is none of its machine/,
    /10\.0\.0\.6 is none of its machine/,
    /its InternalIP is/,
    /its ExternalIP is/,
  ])
  t.end()
})

const UNINITIALIZED = { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }
const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
const LEVEL = { 'rollcall.node-restriction.kubernetes.io/identity-level': 'asserted' }

/** Of a Node with these taints. */
function atFirst(
  taints: readonly (typeof SHUTDOWN)[],
  one: ScenarioCase,
  labels: Readonly<Record<string, string>> = {},
  scenario: Partial<Scenario> = {},
): readonly string[] {
  const node = nodeOf(undefined, labels)
  const object = { ...node, spec: { ...node.spec, taints: [...taints] } }
  return brokenAtFirst(object, { scenario: { ...SCENARIO, ...scenario, cases: [one] }, one, uuid: UUID })
}

t.test('a Node that waits', (t) => {
  const usual: ScenarioCase = { name: 'usual' }
  t.match(atFirst([UNINITIALIZED], usual), [/it is not initialized/])
  t.strictSame(atFirst([UNINITIALIZED], usual, {}, { ipFamily: ['ipv6'] }), [], 'which it has not')
  t.strictSame(atFirst([UNINITIALIZED], usual, {}, { datacenters: ['DC1'] }), [])
  t.match(atFirst([], ONE, {}, { datacenters: ['DC1'] }), [/in no datacenter that is configured/])
  for (const node of [{ systemUUID: 'unknown' }, { providerID: 'foreign' }] as const)
    t.strictSame(atFirst([UNINITIALIZED], { ...usual, node }), [])
  const off: ScenarioCase = { ...usual, vm: { powerState: 'poweredOff' } }
  t.strictSame(atFirst([UNINITIALIZED], off), [])
  t.match(atFirst([UNINITIALIZED, SHUTDOWN], off), [/its shutdown taint is true/])
  t.strictSame(brokenAtFirst(undefined, { scenario: SCENARIO, one: usual, uuid: UUID }), ['it is deleted'])
  t.end()
})

t.test('the taint of a machine that is off', (t) => {
  t.match(atFirst([SHUTDOWN], ONE, LEVEL), [/its shutdown taint is true/], 'it runs')
  const before: ScenarioCase = { name: 'before', node: BEFORE, vm: { powerState: 'suspended' } }
  t.match(atFirst([SHUTDOWN], before), [/its shutdown taint is true/], 'Ready, and never verified')
  t.strictSame(atFirst([], before), [])
  const silent: ScenarioCase = { ...before, node: { ...BEFORE, ready: 'Unknown' } }
  t.match(atFirst([], silent), [/its shutdown taint is false/])
  t.strictSame(atFirst([], silent, {}, { datacenters: ['DC1'] }), [], 'which is left open')
  t.strictSame(atFirst([], silent, {}, { arguments: [NO_LIFECYCLE] }), [])
  const others: ScenarioCase = {
    name: 'other',
    node: { ...BEFORE, providerID: 'foreign', shutdownTaint: true },
  }
  t.strictSame(atFirst([SHUTDOWN], others), [])
  t.match(atFirst([], others), [/its shutdown taint is false/], "another provider's stays")
  t.end()
})
