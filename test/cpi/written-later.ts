/** What happens after both providers have initialized a Node; and settings that the CPI takes as arguments. */
import { at, BEFORE, NO_LIFECYCLE, type Scenario } from './scenario.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const TAGS = [
  { object: 'DC0', label: 'region', tag: 'region-0' },
  { object: 'DC0_C0', label: 'zone', tag: 'zone-0' },
  { object: 'DC0_C0_H1', label: 'zone', tag: 'zone-1' },
] as const
const OFF = { name: 'it is off', powerState: 'poweredOff' } as const
const SILENT = { name: 'it is not Ready', ready: 'Unknown' } as const
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
