import t from 'tap'
import { SETTINGS } from '../../../../../test/fixtures/facts.ts'
import type { NodesConfig } from '../../../../config/config.ts'
import type { CandidateAddress } from './candidate-addresses.ts'
import { discover } from './internal-and-external.ts'

function at(address: string, network?: string): CandidateAddress {
  return { address, family: 'ipv4', source: 'ens192', network, virtual: false }
}

const ONE = at('10.0.0.5', 'net-a')
const TWO = at('10.1.0.5', 'net-b')
const THREE = at('192.0.2.5', 'net-c')

const CASES: readonly {
  readonly name: string
  readonly candidates: readonly CandidateAddress[]
  readonly nodes: Partial<NodesConfig>
  readonly internal?: CandidateAddress
  readonly external?: CandidateAddress
}[] = [
  { name: 'nothing is there', candidates: [], nodes: {} },
  { name: 'the first is both', candidates: [ONE, TWO], nodes: {}, internal: ONE, external: ONE },
  {
    name: 'the first is internal alone where that is wanted',
    candidates: [ONE],
    nodes: { externalIP: 'none' },
    internal: ONE,
  },
  {
    name: 'a subnet each',
    candidates: [ONE, TWO, THREE],
    nodes: { internalNetworkSubnetCidr: ['10.1.0.0/16'], externalNetworkSubnetCidr: ['192.0.2.0/24'] },
    internal: TWO,
    external: THREE,
  },
  {
    name: 'the order of subnets goes before that of addresses',
    candidates: [ONE, TWO],
    nodes: { internalNetworkSubnetCidr: ['10.1.0.0/16', '10.0.0.0/16'] },
    internal: TWO,
  },
  {
    name: 'where one side has a subnet that fits, the other is not made up',
    candidates: [ONE, THREE],
    nodes: { externalNetworkSubnetCidr: ['192.0.2.0/24'] },
    external: THREE,
  },
  {
    name: 'a subnet in which nothing is counts as none',
    candidates: [ONE, THREE],
    nodes: { internalNetworkSubnetCidr: ['172.16.0.0/12'] },
    internal: ONE,
    external: ONE,
  },
  {
    name: 'a subnet goes before a network',
    candidates: [ONE, TWO],
    nodes: { internalNetworkSubnetCidr: ['10.1.0.0/16'], internalVmNetworkName: 'net-a' },
    internal: TWO,
  },
  {
    name: 'a network where no subnet fits, in any case',
    candidates: [ONE, TWO],
    nodes: { internalNetworkSubnetCidr: ['172.16.0.0/12'], internalVmNetworkName: 'NET-B' },
    internal: TWO,
  },
  {
    name: 'a network on one side, a subnet on the other',
    candidates: [ONE, TWO],
    nodes: { internalVmNetworkName: 'net-b', externalNetworkSubnetCidr: ['10.0.0.0/24'] },
    internal: TWO,
    external: ONE,
  },
  {
    name: 'excluded on one side alone',
    candidates: [ONE, TWO],
    nodes: { excludeExternalNetworkSubnetCidr: ['10.0.0.0/24'] },
    internal: ONE,
    external: TWO,
  },
  {
    name: 'excluded, although its subnet is asked for',
    candidates: [ONE, TWO],
    nodes: {
      internalNetworkSubnetCidr: ['10.0.0.0/8'],
      excludeInternalNetworkSubnetCidr: ['10.0.0.0/24'],
    },
    internal: TWO,
  },
  {
    name: 'excluded on both sides',
    candidates: [ONE],
    nodes: {
      excludeInternalNetworkSubnetCidr: ['0.0.0.0/0'],
      excludeExternalNetworkSubnetCidr: ['10.0.0.5/32'],
    },
  },
]

for (const { name, candidates, nodes, internal, external } of CASES) {
  t.test(name, async (t) => {
    const found = discover({ internal: candidates, external: candidates }, { ...SETTINGS.nodes, ...nodes })
    t.same(found, { internal, external })
  })
}

t.test('where a network decides, an address of which nobody knows the network is waited for', async (t) => {
  const both = { internal: [at('10.0.0.5'), TWO], external: [at('10.0.0.5'), TWO] }
  const by = (nodes: Partial<NodesConfig>) => discover(both, { ...SETTINGS.nodes, ...nodes })
  t.equal(by({ internalVmNetworkName: 'net-x' }), undefined)
  t.equal(by({ externalVmNetworkName: 'net-x' }), undefined)
  t.match(by({ internalVmNetworkName: 'net-b' }), { internal: TWO, external: undefined })
  t.match(by({ internalVmNetworkName: 'net-x', internalNetworkSubnetCidr: ['10.1.0.0/16'] }), {
    internal: TWO,
  })
  t.match(
    by({ internalVmNetworkName: 'net-x', excludeInternalNetworkSubnetCidr: ['10.0.0.0/24'] }),
    { internal: TWO, external: { address: '10.0.0.5' } },
    'what is excluded need not be known',
  )
})
