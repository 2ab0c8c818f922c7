/** The written set: what is known to matter, each case in the cheapest scenario that shows it. */
import type { GuestNic } from '../servers/control.ts'
import type { KubeletNode, Scenario, ScenarioCase, ScenarioMachine } from './scenario.ts'
import { LATER } from './written-later.ts'
import { ODD } from './written-odd.ts'

const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const ZONE = 'topology.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'

/** What stands on a Node that was initialized before. */
const BEFORE: KubeletNode = { providerID: 'plain', untainted: true }

/** Nodes with all that can be odd about them, where zone and region are as one would have them. */
const nodes: Scenario = {
  name: 'Nodes of every kind',
  tags: [
    { object: 'DC0', label: 'region', tag: 'region-0' },
    { object: 'DC0_C0', label: 'zone', tag: 'zone-0' },
    { object: 'DC0_C0_H1', label: 'zone', tag: 'zone-of-host' },
    { object: 'racks', label: 'zone', tag: 'zone-of-racks' },
    { object: 'DC1', label: 'zone', tag: 'zone-1' },
    { object: 'DC2_C0', label: 'zone', tag: 'zone-2' },
    { object: 'europe', label: 'region', tag: 'europe' },
  ],
  cases: [
    { name: 'a Node as usual' },
    { name: 'its UUID as vCenter has it', node: { systemUUID: 'plain' } },
    { name: 'its UUID in upper case', node: { systemUUID: 'upper' } },
    { name: 'a UUID that no machine has', node: { systemUUID: 'unknown' } },
    { name: 'its own provider ID', node: { providerID: 'plain' } },
    { name: 'its own provider ID in upper case', node: { providerID: 'upper' } },
    { name: 'its own provider ID in the other byte order', node: { providerID: 'swapped' } },
    { name: 'a machine whose provider ID the next Node has' },
    { name: "another machine's provider ID", node: { providerID: 'previous' } },
    { name: "another provider's provider ID", node: { providerID: 'foreign' } },
    { name: 'initialized before', node: BEFORE },
    {
      name: 'initialized before, with a provider ID in the other byte order',
      node: { providerID: 'swapped', untainted: true },
    },
    {
      name: 'initialized before, with a provider ID in upper case',
      node: { providerID: 'upper', untainted: true },
    },
    { name: 'no taint and no provider ID', node: { untainted: true } },
    { name: "another provider's, initialized", node: { providerID: 'foreign', untainted: true } },
    { name: 'a taint of somebody else', node: { otherTaint: true } },
    {
      name: 'initialized before, with the old zone label alone',
      node: { ...BEFORE, labels: { [BETA_ZONE]: 'zone-0' } },
    },
    {
      name: 'initialized before, with two different zone labels',
      node: { ...BEFORE, labels: { [BETA_ZONE]: 'zone-of-old', [ZONE]: 'zone-0' } },
    },
    {
      name: 'initialized before, with another zone than its tags have',
      node: { ...BEFORE, labels: { [BETA_ZONE]: 'zone-of-old', [ZONE]: 'zone-of-old' } },
    },
    { name: 'a zone label of its kubelet', node: { labels: { [ZONE]: 'zone-of-kubelet' } } },
    {
      name: 'a zone label with which the CSI driver has registered',
      node: { labels: { [ZONE]: 'zone-of-driver' }, topologyKeys: [ZONE, REGION] },
    },
    {
      name: 'a beta zone label with which the CSI driver has registered',
      node: { labels: { [BETA_ZONE]: 'zone-of-driver' }, topologyKeys: [BETA_ZONE] },
    },
    { name: 'a label of its kubelet', node: { labels: { 'example.com/disk': 'ssd' } } },
    { name: 'a guest with another name', vm: { hostName: 'localhost' } },
    { name: 'a guest whose name has a domain', vm: { hostName: 'guest.example.com' } },
    { name: 'a guest without a name', vm: { hostName: '' } },
    {
      name: 'a guest with another name, and a provider ID',
      vm: { hostName: 'localhost' },
      node: { providerID: 'plain' },
    },
    {
      name: 'a Node named by its address',
      node: { name: '10.250.0.9' },
      vm: { nics: [{ addresses: ['10.250.0.9/24'] }] },
    },
    { name: 'a machine that is off', vm: { powerState: 'poweredOff' } },
    { name: 'a machine that is suspended', vm: { powerState: 'suspended' } },
    { name: 'no addresses', vm: { nics: [] } },
    { name: 'a zone tag on the host too', vm: { place: 'second-host' } },
    { name: 'the zone tag on a folder of clusters', vm: { place: 'racks' } },
    { name: 'no region tag', vm: { place: 'second-datacenter' } },
    { name: 'a datacenter in a folder', vm: { place: 'nested-datacenter' } },
    ...sized([
      { cpus: 1, memoryMB: 1024 },
      { cpus: 3, memoryMB: 1023 },
      { cpus: 8, memoryMB: 16_385 },
      { cpus: 128, memoryMB: 6_291_456 },
    ]),
    ...[
      'rhel7_64Guest',
      'rhel8_64Guest',
      'ubuntu64Guest',
      'other5xLinux64Guest',
      'windows2019srv_64Guest',
      '',
    ].map((guestID): ScenarioCase => ({ name: `guest ID ${guestID || 'empty'}`, vm: { guestID } })),
  ],
}

function sized(sizes: readonly { cpus: number; memoryMB: number }[]): ScenarioCase[] {
  return sizes.map((vm) => ({ name: `${vm.cpus} CPUs, ${vm.memoryMB} MB`, vm }))
}

/** Where the tags are not on the side of the host. */
const elsewhere: Scenario = {
  name: 'Tags on resource pools, folders and machines',
  tags: [
    { object: 'pool-a', label: 'zone', tag: 'zone-of-pool' },
    { object: 'pool-a', label: 'region', tag: 'region-of-pool' },
    { object: 'pool-b', label: 'region', tag: 'region-of-inner-pool' },
    { object: 'workers', label: 'zone', tag: 'zone-of-folder' },
    { object: 'workers', label: 'region', tag: 'region-of-folder' },
    { object: 'DC0_C0_H1', label: 'zone', tag: 'zone-of-host' },
    { object: 'DC1', label: 'region', tag: 'region-1' },
  ],
  cases: [
    { name: 'no tags at all' },
    { name: 'both on the resource pool', vm: { place: 'pool-a' } },
    { name: 'the region on the inner pool too', vm: { place: 'pool-b' } },
    { name: 'both on the folder', vm: { place: 'workers' } },
    { name: 'both on the folder above', vm: { place: 'gpu' } },
    { name: 'both on the machine', vm: { tags: { zone: 'own', region: 'own' } } },
    {
      name: 'both on the pool and the machine',
      vm: { place: 'pool-a', tags: { zone: 'own', region: 'own' } },
    },
    { name: 'the zone on the machine, both on the folder', vm: { place: 'workers', tags: { zone: 'own' } } },
    {
      name: 'the zone on the host, both on the machine',
      vm: { place: 'second-host', tags: { zone: 'own', region: 'own' } },
    },
    {
      name: 'the zone on the host, the region on the machine',
      vm: { place: 'second-host', tags: { region: 'own' } },
    },
    { name: 'the zone on the host, no region', vm: { place: 'second-host' } },
    {
      name: 'the region on the datacenter, the zone on the machine',
      vm: { place: 'second-datacenter', tags: { zone: 'own' } },
    },
    { name: 'the zone on the machine alone', vm: { tags: { zone: 'own' } } },
    { name: 'a tag that is no label value', vm: { tags: { zone: 'zone 1 / left', region: 'own' } } },
    { name: 'a tag that is too long for a label', vm: { tags: { zone: 'z'.repeat(64), region: 'own' } } },
    { name: 'a tag in capitals with dots', vm: { tags: { zone: 'Zone_1.A', region: 'EU-West' } } },
    { name: 'a tag in another script', vm: { tags: { zone: 'zürich', region: 'own' } } },
  ],
}

const halves: Scenario[] = [
  {
    name: 'Only zone is configured',
    labels: ['zone'],
    tags: [{ object: 'DC0_C0', label: 'zone', tag: 'zone-0' }],
    cases: [{ name: 'a zone tag' }, { name: 'no zone tag', vm: { place: 'second-datacenter' } }],
  },
  {
    name: 'Some datacenters are configured',
    labels: [],
    datacenters: ['DC0', '/europe/DC2', 'is-not-there'],
    cases: [
      { name: 'in one of them' },
      {
        name: 'in one of them, its UUID as vCenter has it, and a provider ID',
        node: { systemUUID: 'plain', providerID: 'plain' },
      },
      { name: 'in one of them, which is in a folder', vm: { place: 'nested-datacenter' } },
      { name: 'in another', vm: { place: 'second-datacenter' } },
      { name: 'in another, initialized before', vm: { place: 'second-datacenter' }, node: BEFORE },
      {
        name: 'in another, initialized before, and not Ready',
        vm: { place: 'second-datacenter' },
        node: { ...BEFORE, ready: 'Unknown' },
      },
    ],
  },
  {
    name: 'Datacenters are configured by their references',
    labels: [],
    datacenters: ['Datacenter:DC1', 'Datacenter:DC2'],
    cases: [
      { name: 'in one of them', vm: { place: 'second-datacenter' } },
      { name: 'in one of them, which is in a folder', vm: { place: 'nested-datacenter' } },
      { name: 'in another' },
      { name: 'in another, initialized before', node: BEFORE },
    ],
  },
  {
    name: 'Two vCenters',
    labels: [],
    twoVCenters: true,
    cases: [
      { name: 'in the first' },
      { name: 'in the second', vm: { second: true } },
      { name: 'in the second, with a provider ID', vm: { second: true }, node: { providerID: 'plain' } },
      { name: 'in the second, initialized before', vm: { second: true }, node: BEFORE },
    ],
  },
]

const PRIVATE = { network: 'private' }
const PUBLIC = { network: 'public' }
const ELSE = { network: 'else' }

/** Which addresses a machine's Node gets; each is of one Node alone. */
const addresses: Scenario[] = [
  {
    name: 'Addresses by default',
    labels: [],
    cases: [
      { name: 'several', vm: nic('10.200.0.1/24', '10.200.1.1/24') },
      { name: 'several NICs', vm: { nics: [on('10.200.0.2/24'), on('10.200.1.2/24')] } },
      { name: 'loopback and link-local first', vm: nic('127.0.0.1/8', '169.254.0.1/16', '10.200.0.3/24') },
      { name: 'none but link-local', vm: nic('169.254.0.4/16', 'fe80::4/64') },
      { name: 'both families', vm: nic('fd00::5/64', '10.200.0.5/24') },
      { name: 'IPv6 alone', vm: nic('fd00::6/64') },
      {
        name: 'an interface that is no vNIC',
        vm: { nics: [on('10.244.0.7/24', { deviceConfigId: -1 }), on('10.200.0.7/24')] },
      },
      {
        name: 'only interfaces that are no vNIC',
        vm: { nics: [on('10.244.0.8/24', { deviceConfigId: -1 })] },
      },
      { name: 'a broadcast address first', vm: nic('255.255.255.255/32', '10.200.0.9/24') },
      {
        name: 'a static address of cloud-init',
        vm: { ...nic('10.200.0.10/24', '10.200.1.10/24'), staticAddresses: ['10.200.1.10/24'] },
      },
      {
        name: 'a static address that the machine does not have',
        vm: { ...nic('10.200.0.11/24'), staticAddresses: ['10.200.9.11/24'] },
      },
      chosen('the first', '10.200.0.12', '10.200.0.12/24', '10.200.1.12/24'),
      chosen('the second', '10.200.1.13', '10.200.0.13/24', '10.200.1.13/24'),
      chosen('of no machine', '10.200.9.14', '10.200.0.14/24'),
      chosen('the other family', 'fd00::15', '10.200.0.15/24', 'fd00::15/64'),
      chosen('empty', '', '10.200.0.18/24'),
      { name: "the kubelet's choice is no address", vm: nic('10.200.0.16/24'), node: { nodeIP: 'eth0' } },
      { name: 'initialized before, several', vm: nic('10.200.0.17/24', '10.200.1.17/24'), node: BEFORE },
    ],
  },
  {
    name: 'Two families',
    labels: [],
    ipFamily: ['ipv6', 'ipv4'],
    cases: [
      { name: 'both', vm: nic('10.201.0.1/24', 'fd01::1/64') },
      { name: 'several of both', vm: nic('10.201.0.2/24', '10.201.1.2/24', 'fd01::2/64', 'fd02::2/64') },
      { name: 'IPv4 alone', vm: nic('10.201.0.3/24') },
      { name: 'IPv6 alone', vm: nic('fd01::4/64') },
      chosen('IPv4', '10.201.0.6', '10.201.0.6/24', 'fd01::6/64'),
      chosen('both', '10.201.0.7,fd01::7', '10.201.0.7/24', 'fd01::7/64'),
      chosen('with a blank', '10.201.0.5, fd01::5', '10.201.0.5/24', 'fd01::5/64'),
      chosen('IPv4 alone is there', '10.201.0.8', '10.201.0.8/24'),
      { name: 'initialized before, IPv4 alone', vm: nic('10.201.0.10/24'), node: BEFORE },
    ],
  },
  {
    name: 'Subnets',
    labels: [],
    nodes: {
      internalNetworkSubnetCidr: '10.202.1.0/24,10.202.0.0/16',
      externalNetworkSubnetCidr: '192.0.2.0/24,198.51.100.0/24',
      excludeExternalNetworkSubnetCidr: '198.51.100.128/25',
    },
    cases: [
      { name: 'one in each', vm: nic('192.0.2.1/24', '10.202.0.1/16') },
      {
        name: 'the first subnet decides',
        vm: nic('10.202.0.2/16', '10.202.1.2/24', '198.51.100.2/24', '192.0.2.2/24'),
      },
      { name: 'only internal', vm: nic('203.0.113.3/24', '10.202.0.3/16') },
      { name: 'only external', vm: nic('203.0.113.4/24', '192.0.2.4/24') },
      { name: 'neither', vm: nic('203.0.113.5/24', '203.0.113.105/24') },
      { name: 'an excluded one', vm: nic('10.202.0.6/16', '198.51.100.206/24') },
      { name: 'none but an excluded one', vm: nic('198.51.100.207/24') },
      chosen('outside', '203.0.113.8', '10.202.0.8/16', '203.0.113.8/24'),
      chosen('inside', '192.0.2.9', '10.202.0.9/16', '192.0.2.9/24'),
    ],
  },
  {
    name: 'Subnets with blanks between them',
    labels: [],
    nodes: { internalNetworkSubnetCidr: '10.204.1.0/24, 10.204.0.0/16' },
    cases: [{ name: 'in the second', vm: nic('203.0.113.201/24', '10.204.0.1/16') }],
  },
  {
    name: 'Networks',
    labels: [],
    nodes: {
      internalVmNetworkName: 'private',
      externalVmNetworkName: 'Public',
      excludeInternalNetworkSubnetCidr: '10.203.9.0/24',
    },
    cases: [
      { name: 'one in each', vm: { nics: [on('192.0.2.101/24', PUBLIC), on('10.203.0.1/24', PRIVATE)] } },
      { name: 'only internal', vm: { nics: [on('203.0.113.102/24', ELSE), on('10.203.0.2/24', PRIVATE)] } },
      { name: 'only external', vm: { nics: [on('203.0.113.103/24', ELSE), on('192.0.2.103/24', PUBLIC)] } },
      { name: 'neither', vm: { nics: [on('203.0.113.104/24', ELSE)] } },
      { name: 'an excluded one', vm: { nics: [on('10.203.9.5/24', PRIVATE), on('192.0.2.105/24', PUBLIC)] } },
      {
        name: "the kubelet's choice, and no external one",
        vm: { nics: [on('10.203.0.7/24', PRIVATE)] },
        node: { nodeIP: '10.203.0.7' },
      },
      {
        name: 'an excluded one and another',
        vm: { nics: [on('10.203.9.6/24', PRIVATE), on('10.203.0.6/24', PRIVATE)] },
      },
    ],
  },
  {
    name: 'Two families in one network',
    labels: [],
    ipFamily: ['ipv4', 'ipv6'],
    nodes: { internalVmNetworkName: 'public' },
    cases: [
      {
        name: "the kubelet's choice of both, and no external ones",
        vm: { nics: [{ ...PUBLIC, addresses: ['10.205.0.1/24', 'fd05::1/64'] }] },
        node: { nodeIP: '10.205.0.1,fd05::1' },
      },
    ],
  },
]

function nic(...list: string[]): Pick<ScenarioMachine, 'nics'> {
  return { nics: [{ addresses: list }] }
}

/** A machine with these addresses, of which the kubelet has chosen. */
function chosen(which: string, nodeIP: string, ...list: string[]): ScenarioCase {
  return { name: `the kubelet's choice, ${which}`, vm: nic(...list), node: { nodeIP } }
}

/** A NIC of its own. */
function on(address: string, changes: Partial<GuestNic> = {}): GuestNic {
  return { addresses: [address], ...changes }
}

export const WRITTEN: readonly Scenario[] = [nodes, elsewhere, ...halves, ...addresses, ...ODD, ...LATER]

/** A cluster that one provider takes over from the other: Nodes as the CPI initializes them, also where we would not. */
export const HANDED_OVER: Scenario = {
  name: 'Handed over',
  tags: [
    { object: 'DC0', label: 'region', tag: 'region-0' },
    { object: 'DC0_C0', label: 'zone', tag: 'zone-0' },
    { object: 'DC0_C0_H1', label: 'zone', tag: 'zone-of-host' },
    { object: 'rack-host', label: 'zone', tag: 'zone-of-rack' },
  ],
  cases: [
    { name: 'a Node as usual' },
    { name: 'another zone than ours', vm: { place: 'second-host' } },
    { name: 'another instance type than ours', vm: { guestID: 'rhel9_64Guest' } },
    { name: 'a provider ID in upper case', node: { providerID: 'upper' } },
    {
      name: 'another name than the Node',
      vm: { hostName: 'guest.example.com' },
      node: { providerID: 'plain' },
    },
    { name: 'a taint and a label of somebody else', node: { otherTaint: true, labels: { disk: 'ssd' } } },
    {
      name: 'several addresses',
      vm: { nics: [{ addresses: ['10.240.0.9/24', '10.240.0.8/24', 'fd00::9/64'] }] },
    },
    { name: 'in a rack', vm: { place: 'racks' } },
  ],
}
