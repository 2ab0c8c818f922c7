/** What happens after both providers have initialized a Node; and settings that the CPI takes as arguments. */
import { ASKS, at, BEFORE, NO_LIFECYCLE, type Scenario } from './scenario.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const TAGS = [
  { object: 'DC0', label: 'region', tag: 'region-0' },
  { object: 'DC0_C0', label: 'zone', tag: 'zone-0' },
  { object: 'DC0_C0_H1', label: 'zone', tag: 'zone-1' },
] as const
const OFF = { name: 'it is off', powerState: 'poweredOff' } as const
const SILENT = { name: 'it is not Ready', ready: 'Unknown' } as const
const GONE = { name: 'it is destroyed', gone: true } as const
const RUNS = { name: 'it runs', powerState: 'poweredOn' } as const
/** What has a tag only by itself. */
const UNTAGGED = { place: 'second-datacenter' } as const
const BACK = { name: 'it runs again', powerState: 'poweredOn', ready: 'True' } as const

export const LATER: readonly Scenario[] = [
  {
    name: 'Machines and Nodes that change',
    tags: TAGS,
    cases: [
      {
        name: 'one address',
        vm: at('10.209.0.1/24'),
        later: [{ name: 'another one', ...at('10.209.1.1/24') }],
      },
      {
        name: 'two addresses',
        vm: at('10.209.0.2/24', '10.209.1.2/24'),
        later: [
          { name: 'in another order', ...at('10.209.1.2/24', '10.209.0.2/24') },
          { name: 'the second alone', ...at('10.209.1.2/24') },
        ],
      },
      {
        name: 'initialized before, two addresses',
        vm: at('10.209.0.3/24', '10.209.1.3/24'),
        node: BEFORE,
        later: [{ name: 'in another order', ...at('10.209.1.3/24', '10.209.0.3/24') }],
      },
      {
        name: 'an address',
        vm: at('10.209.0.4/24'),
        later: [
          { name: 'its guest reports nothing', nics: [] },
          { name: 'its guest reports again', ...at('10.209.0.4/24') },
        ],
      },
      {
        name: 'initialized before, without an address',
        vm: { nics: [] },
        node: BEFORE,
        later: [{ name: 'its guest reports one', ...at('10.209.0.6/24') }],
      },
      { name: 'a machine as usual', later: [OFF, SILENT] },
      { name: 'one that is switched off and on', later: [{ ...OFF, ready: 'Unknown' }, BACK] },
      { name: 'one that is suspended', later: [{ ...OFF, ready: 'False', powerState: 'suspended' }, BACK] },
      { name: 'initialized before', node: BEFORE, later: [{ ...OFF, ready: 'Unknown' }, BACK] },
      { name: 'one whose kubelet is silent', later: [SILENT, { name: 'it is Ready', ready: 'True' }] },
      { name: 'in one zone', later: [{ name: 'it moves to another', place: 'second-host' }] },
      { name: 'a zone', later: [{ name: 'a person changes it', labels: { [ZONE]: 'of-person' } }] },
      { name: 'an old zone', later: [{ name: 'a person changes it', labels: { [BETA_ZONE]: 'of-person' } }] },
      { name: 'another zone', later: [{ name: 'a person removes it', labels: { [ZONE]: null } }] },
      {
        name: 'initialized without a provider ID',
        vm: at('10.209.0.5/24'),
        node: { untainted: true },
        later: [{ name: 'it gets one', providerID: 'plain' }],
      },
      {
        name: 'initialized before, its machine off and its kubelet silent',
        vm: { powerState: 'poweredOff' },
        node: { ...BEFORE, ready: 'Unknown' },
      },
      {
        name: 'initialized before, its machine off, and Ready',
        vm: { powerState: 'poweredOff' },
        node: { ...BEFORE, shutdownTaint: true },
      },
    ],
  },
  {
    name: 'Tags, names and sizes that change',
    tags: TAGS,
    cases: [
      {
        name: 'tags of its own',
        vm: { ...UNTAGGED, tags: { zone: 'own', region: 'own' } },
        later: [
          { name: 'another zone', tags: { zone: 'other' } },
          { name: 'no tags', tags: { zone: null, region: null } },
        ],
      },
      {
        name: 'tags of its own, and another zone',
        vm: { ...UNTAGGED, tags: { zone: 'own', region: 'own' } },
        later: [{ name: 'another zone', tags: { zone: 'other' } }, ASKS],
      },
      { name: 'no tag', vm: UNTAGGED, later: [{ name: 'two tags', tags: { zone: 'own', region: 'own' } }] },
      {
        name: 'initialized before, no tag',
        vm: UNTAGGED,
        node: BEFORE,
        later: [{ name: 'two tags', tags: { zone: 'own', region: 'own' } }],
      },
      {
        name: 'the name of the Node',
        vm: at('10.211.0.1/24'),
        later: [
          { name: 'another name', hostName: 'localhost' },
          { name: 'another name, and another address', ...at('10.211.1.1/24') },
          { name: 'no name', hostName: '' },
        ],
      },
      {
        name: 'another name',
        vm: { hostName: 'localhost', ...at('10.211.0.2/24') },
        later: [{ name: 'another address', ...at('10.211.1.2/24') }, { ...OFF, ready: 'Unknown' }, BACK],
      },
      {
        name: 'a size',
        vm: { cpus: 2, memoryMB: 2048 },
        later: [{ name: 'another size', cpus: 4, memoryMB: 8192 }, ASKS],
      },
      { name: 'in one zone, and asked for again', later: [{ name: 'it moves', place: 'second-host' }, ASKS] },
    ],
  },
  {
    name: 'Machines that go, and taints of people',
    tags: TAGS,
    cases: [
      { name: 'a machine as usual', later: [GONE, SILENT] },
      { name: 'initialized before', node: BEFORE, later: [GONE, SILENT] },
      { name: 'one whose kubelet is silent', node: { ready: 'Unknown' }, later: [GONE] },
      { name: 'one that only Rollcall initializes', vm: UNTAGGED, later: [GONE, SILENT] },
      { name: 'a taint', later: [{ name: 'of somebody', taint: 'other' }] },
      { name: 'a taint of a machine that is off', later: [{ name: 'of a person', taint: 'shutdown' }] },
      {
        name: 'a taint of a machine that is off, and a silent kubelet',
        later: [{ name: 'of a person', taint: 'shutdown', ready: 'Unknown' }],
      },
      { name: 'a Node that is asked for again', later: [ASKS] },
      { name: 'one that is off', later: [{ ...OFF, ready: 'Unknown' }, ASKS, BACK] },
      { name: 'a machine that is off at first', vm: { powerState: 'poweredOff' }, later: [RUNS] },
      {
        name: 'a machine that is off at first, with that taint',
        vm: { powerState: 'poweredOff' },
        node: { shutdownTaint: true, ready: 'Unknown' },
        later: [BACK],
      },
    ],
  },
  {
    name: 'A machine that is gone for good',
    tags: TAGS,
    lifecycle: { absentFor: '3s', leaderAge: '0s', confirmations: 2 },
    cases: [
      { name: 'one that stays' },
      { name: 'one that goes', later: [GONE, SILENT] },
      { name: 'another that stays', later: [SILENT] },
    ],
  },
  {
    name: 'An address of two machines',
    labels: [],
    cases: [
      { name: 'a machine whose address another one has', vm: at('10.210.0.1/24') },
      { name: 'that other one', vm: at('10.210.0.1/24') },
      { name: 'one that has another address besides', vm: at('10.210.0.1/24', '10.210.0.3/24') },
      {
        name: 'one that gets it later',
        vm: at('10.210.0.4/24'),
        later: [{ name: 'it has the address', ...at('10.210.0.1/24') }],
      },
    ],
  },
  {
    name: 'Several tags of a category',
    tags: [...TAGS, { object: 'DC0_C0', label: 'zone', tag: 'zone-00' }],
    cases: [
      { name: 'a new Node' },
      { name: 'one that has one of them', node: { ...BEFORE, labels: { [ZONE]: 'zone-00' } } },
    ],
  },
  {
    name: 'Labels by arguments',
    tags: TAGS,
    arguments: ['--node-labels=example.com/site=a,tier='],
    cases: [
      { name: 'a Node as usual' },
      { name: 'one that has such a label', node: { labels: { tier: 'of-kubelet' } } },
      { name: 'initialized before', node: BEFORE },
    ],
  },
  {
    name: 'No lifecycle by arguments',
    tags: TAGS,
    arguments: [NO_LIFECYCLE],
    cases: [
      { name: 'a machine as usual', later: [OFF, SILENT] },
      { name: 'gone', vm: { gone: true }, node: { ...BEFORE, ready: 'Unknown' } },
      { name: 'a taint of a machine that is off', node: { ...BEFORE, shutdownTaint: true } },
    ],
  },
]
