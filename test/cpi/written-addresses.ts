/** Which addresses a machine's Node gets. */
import type { GuestNic } from '../servers/control.ts'
import { BEFORE, type Scenario, type ScenarioCase, type ScenarioMachine } from './scenario.ts'

const PRIVATE = { network: 'private' }
const PUBLIC = { network: 'public' }
const ELSE = { network: 'else' }

/** Each is of one Node alone. */
export const ADDRESSES: readonly Scenario[] = [
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
      {
        name: 'IPv4 alone, and a guest with another name',
        vm: { hostName: 'localhost', ...nic('10.201.0.11/24') },
      },
      {
        name: 'both, and the name of that Node',
        vm: { nameOfPrevious: true, ...nic('10.201.0.12/24', 'fd01::12/64') },
      },
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
