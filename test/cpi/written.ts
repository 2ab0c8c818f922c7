/** The written set: what is known to matter, each case in the cheapest scenario that shows it. */
import { BEFORE, type Scenario, type ScenarioCase } from './scenario.ts'
import { ADDRESSES } from './written-addresses.ts'
import { LATER } from './written-later.ts'
import { ODD } from './written-odd.ts'

const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const ZONE = 'topology.kubernetes.io/zone'
const REGION = 'topology.kubernetes.io/region'

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
        name: 'in one of them, with two different zone labels',
        node: { labels: { [BETA_ZONE]: 'zone-of-old', [ZONE]: 'zone-of-kubelet' } },
      },
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

export const WRITTEN: readonly Scenario[] = [nodes, elsewhere, ...halves, ...ADDRESSES, ...ODD, ...LATER]

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
