/** Machines and Nodes as they should not be, and files in their less common forms. */
import { ASKS, at, BEFORE, type Scenario } from './scenario.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const TAGS = [
  { object: 'DC0', label: 'region', tag: 'region-0' },
  { object: 'DC0_C0', label: 'zone', tag: 'zone-0' },
] as const

export const ODD: readonly Scenario[] = [
  {
    name: 'Machines that are taken for each other',
    tags: TAGS,
    cases: [
      { name: 'a machine whose UUID another one has' },
      { name: 'that other one, which runs', vm: { uuidOfPrevious: true } },
      { name: 'a machine whose UUID another one has, which is off', vm: at('10.206.2.1/24') },
      {
        // With this name the CPI initializes the Node, whichever it takes.
        name: 'that other one',
        vm: { uuidOfPrevious: true, nameOfPrevious: true, powerState: 'poweredOff', ...at('10.206.2.2/24') },
        node: { systemUUID: 'unknown' },
      },
      { name: 'a Node whose name four other guests have', node: { name: 'twin' } },
      ...[1, 2, 3, 4].map((which) => ({
        name: `guest ${which} with the name of another Node`,
        vm: { hostName: 'twin' },
      })),
    ],
  },
  {
    name: 'Nodes that are not as usual',
    tags: TAGS,
    cases: [
      { name: 'not Ready', node: { ready: 'False' } },
      { name: 'the taint of a machine that is off', node: { shutdownTaint: true } },
      {
        name: 'the taint of a machine that is off, and no UUID in its provider ID',
        node: { shutdownTaint: true, providerID: 'empty' },
      },
      {
        name: 'the taint of a machine that is off, and not Ready',
        node: { shutdownTaint: true, ready: 'Unknown' },
      },
      { name: 'initialized before, not Ready', node: { ...BEFORE, ready: 'False' } },
      { name: 'initialized before, silent', node: { ...BEFORE, ready: 'Unknown' } },
      {
        name: 'initialized before, with the taint of a machine that is off',
        node: { ...BEFORE, shutdownTaint: true },
      },
      { name: 'the beta label of the zone alone', node: { labels: { [BETA_ZONE]: 'zone-of-old' } } },
      ...[
        ['region', 'failure-domain.beta.kubernetes.io/region'],
        ['instance type', 'beta.kubernetes.io/instance-type'],
      ].flatMap(([what, beta = '']) => [
        { name: `the beta label of the ${what} alone`, node: { labels: { [beta]: 'of-old' } } },
        {
          name: `initialized before, with the beta label of the ${what} alone`,
          node: { ...BEFORE, labels: { [beta]: 'of-old' } },
        },
        {
          name: `another provider's, with the beta label of the ${what} alone`,
          node: { providerID: 'foreign' as const, untainted: true, labels: { [beta]: 'of-old' } },
        },
      ]),
      {
        name: "another provider's, with two zone labels",
        node: { providerID: 'foreign', untainted: true, labels: { [BETA_ZONE]: 'b', [ZONE]: 'a' } },
      },
      {
        name: "another provider's, with a beta label alone",
        node: { providerID: 'foreign', untainted: true, labels: { [BETA_ZONE]: 'b' } },
      },
      { name: 'a UUID that is none', node: { systemUUID: 'malformed' } },
      {
        name: 'a UUID that is none, initialized before, not Ready',
        node: { ...BEFORE, systemUUID: 'malformed', ready: 'False' },
      },
      { name: 'no UUID', node: { systemUUID: 'empty' } },
      { name: 'a provider ID without a UUID', node: { providerID: 'empty' } },
      { name: 'a provider ID with something else', node: { providerID: 'malformed' } },
      { name: 'a UUID for a provider ID', node: { providerID: 'bare' } },
      {
        name: 'a provider ID with something else, and not Ready',
        node: { providerID: 'malformed', ready: 'Unknown' },
      },
      {
        name: "another provider's, and not Ready",
        node: { providerID: 'foreign', untainted: true, ready: 'Unknown' },
      },
      {
        name: 'a provider ID without a UUID, and not Ready',
        node: { providerID: 'empty', untainted: true, ready: 'Unknown' },
      },
      {
        name: 'a UUID for a provider ID, and not Ready',
        node: { providerID: 'bare', untainted: true, ready: 'Unknown' },
      },
      {
        name: 'no provider ID, with the taint of a machine that is off',
        node: { untainted: true, shutdownTaint: true },
      },
      {
        name: 'initialized before, its machine gone',
        vm: { gone: true },
        node: { ...BEFORE, ready: 'Unknown' },
      },
      { name: 'initialized before, its machine gone, and Ready', vm: { gone: true }, node: BEFORE },
      { name: 'its machine gone', vm: { gone: true } },
      { name: 'the kubelet leaves the address to others', vm: at('10.206.0.1/24'), node: { nodeIP: '::' } },
      {
        name: 'a static address with leading zeros',
        vm: { ...at('10.206.0.2/24', '10.206.1.2/24'), staticAddresses: ['10.206.001.2/24'] },
      },
      {
        name: 'a static address of a bond',
        vm: {
          ...at('10.206.0.4/24', '10.206.1.4/24'),
          staticAddresses: ['10.206.1.4/24'],
          staticOf: 'bonds',
        },
      },
      {
        name: "the kubelet's choice with leading zeros",
        vm: at('10.206.0.3/24'),
        node: { nodeIP: '10.206.000.003' },
      },
    ],
  },
  {
    name: 'One category for zone and region',
    oneCategory: true,
    tags: [{ object: 'DC0', label: 'zone', tag: 'place-0' }],
    cases: [{ name: 'a tag' }],
  },
  {
    name: 'Tags and settings of a second vCenter',
    twoVCenters: true,
    tags: TAGS,
    tagsOfSecond: [
      { object: 'DC0', label: 'region', tag: 'region-9' },
      { object: 'DC0_C0', label: 'zone', tag: 'zone-9' },
    ],
    second: { ipFamily: ['ipv6'] },
    cases: [
      { name: 'in the first', vm: at('10.207.0.1/24', 'fd07::1/64') },
      { name: 'in the second', vm: { second: true, ...at('10.207.0.2/24', 'fd07::2/64') } },
      { name: 'in the second, of the other family', vm: { second: true, ...at('10.207.0.3/24') } },
    ],
  },
  {
    name: 'Tags on machines of two vCenters',
    twoVCenters: true,
    tags: [{ object: 'DC1', label: 'region', tag: 'region-1' }],
    tagsOfSecond: [{ object: 'DC0', label: 'region', tag: 'region-9' }],
    cases: [
      { name: 'in the first', vm: { place: 'second-datacenter', tags: { zone: 'own' } } },
      {
        name: 'in the second',
        vm: { second: true, tags: { zone: 'own' } },
        later: [{ name: 'it has another', tags: { zone: 'other' } }, ASKS],
      },
      { name: 'in the second, two', vm: { second: true, tags: { zone: 'own', region: 'own' } } },
      {
        name: 'in the second, none',
        vm: { second: true },
        later: [{ name: 'it gets one', tags: { zone: 'own' } }],
      },
    ],
  },
  ...['DC%2fEast', 'DC/East', '/DC%2FEast', 'dc%2feast', 'East', '/DC*', 'DC/E?st'].map(
    (datacenter): Scenario => ({
      name: `Datacenter ${datacenter}`,
      labels: [],
      datacenters: [datacenter],
      cases: [
        { name: 'in DC/East', vm: { place: 'slashed-datacenter' } },
        { name: 'in East in the folder DC', vm: { place: 'east-datacenter' } },
        { name: 'in another' },
      ],
    }),
  ),
  {
    name: 'A file in INI',
    form: 'ini',
    tags: TAGS,
    datacenters: ['DC0', '/europe/DC2'],
    nodes: { internalNetworkSubnetCidr: '10.208.1.0/24,10.208.0.0/16' },
    cases: [
      { name: 'a Node as usual', vm: at('192.0.2.91/24', '10.208.0.1/16') },
      { name: 'in another datacenter', vm: { place: 'second-datacenter', ...at('10.208.0.2/16') } },
    ],
  },
]
