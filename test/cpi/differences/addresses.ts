/** Where Rollcall means to differ in the addresses of a Node. */
import { isIPv4, isIPv6 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { IPFamily } from '../../../controller/config/config.ts'
import { familiesOf } from '../address-rules.ts'
import type { Scenario, ScenarioCase } from '../scenario.ts'
import { addressesOf, givesUp, ipsOf, type NodeRow, sharedAddresses, withoutHostname } from './row.ts'

export const IN_ADDRESSES: readonly NodeRow[] = [
  {
    what: "`Hostname`, where the guest's is not the Node's name",
    cpi: "the guest's",
    rollcall: "the kubelet's, otherwise the guest's, otherwise the Node's name",
    because: "It is in the kubelet's certificate.",
    explains: ({ part, cpi, rollcall }, { case: { vm = {} } }) =>
      part === 'addresses' &&
      (vm.hostName !== undefined || vm.nameOfPrevious === true) &&
      isDeepStrictEqual(withoutHostname(cpi), withoutHostname(rollcall)),
  },
  {
    what: 'Two VMs that report one address',
    cpi: 'both Nodes get it',
    rollcall: 'one gets it; the other takes another, or waits',
    explains({ part, cpi, rollcall }, { scenario: { cases }, case: one }) {
      const shared = sharedAddresses(cases, one)
      if (part === 'initialized') return cpi === true && shared.size > 0
      if (part !== 'addresses') return false
      const ours = ipsOf(rollcall)
      return ipsOf(cpi).some((each) => shared.has(each) && !ours.includes(each))
    },
  },
  {
    what: 'Addresses that the kubelet registered in another order of types',
    cpi: 'writes its own order',
    rollcall: 'leaves them',
    explains: ({ part, cpi, rollcall }, { case: { node = {} } }) =>
      part === 'addresses' &&
      node.nodeIP !== undefined &&
      isDeepStrictEqual(withoutHostname(cpi), withoutHostname(rollcall)),
  },
  {
    what: "Static addresses of bonds, bridges and VLANs in cloud-init's metadata",
    cpi: 'are not read',
    rollcall: 'come first, like those of `ethernets`',
    explains: ({ part, rollcall }, { case: { vm = {} } }) =>
      part === 'addresses' &&
      vm.staticOf !== undefined &&
      ipsOf(rollcall).some((each) => vm.staticAddresses?.some((fixed) => fixed.split('/')[0] === each)),
  },
  {
    what: "Running Node's addresses, when VMware Tools report others, or another order",
    cpi: 'follow Tools, every five minutes',
    rollcall: 'stay while they exist, unless the configuration prefers others',
    because: 'A new address loses connections.',
    explains({ part, rollcall }, { case: one, before }) {
      if (part !== 'addresses' || before === undefined) return false
      const had = ipsOf(before.rollcall.status.addresses)
      const there = addressesOf(one)
      const ours = ipsOf(rollcall)
      return ours.some((each) => had.includes(each)) && ours.every((each) => there.includes(each))
    },
  },
  {
    what: 'Initialized Node whose VM reports its first address after the provider started',
    cpi: 'gets it only while not Ready, or after a restart of the CPI',
    rollcall: 'gets it at once',
    explains: ({ part, cpi }, { case: { node = {} }, before }) =>
      part === 'addresses' &&
      before !== undefined &&
      isDeepStrictEqual(cpi, before.cpi?.status.addresses) &&
      ipsOf(cpi).every((each) => node.nodeIP?.split(',').includes(each) === true),
  },
  {
    what: '`--node-ip` `::` or `0.0.0.0`',
    cpi: 'is stuck',
    rollcall: 'is not set; `ipFamily` decides',
    explains: ({ part }, { case: one }) =>
      givesUp(part, one) && (one.node?.nodeIP === '::' || one.node?.nodeIP === '0.0.0.0'),
  },
  {
    what: 'Leading zeros in `alpha.kubernetes.io/provided-node-ip`: `10.0.000.003`',
    cpi: 'reads it as decimal',
    rollcall: 'refuses it (`ProvidedIPMalformed`)',
    because: 'Others read it as octal.',
    explains: ({ part, cpi }, { case: one }) =>
      givesUp(part, one) && cpi !== false && /\.0\d/.test(one.node?.nodeIP ?? ''),
  },
  {
    what: '`--node-ip` with a space after the comma, or empty',
    cpi: 'is stuck',
    rollcall: 'is read, or not set',
    explains: ({ part, cpi }, { case: one }) =>
      part === 'initialized' && cpi === false && /, |^$/.test(one.node?.nodeIP ?? '-'),
  },
  {
    what: '`--node-ip` on the VM that subnets, networks or order would not choose',
    cpi: 'is stuck',
    rollcall: 'is used, unless excluded',
    explains: ({ part }, { scenario, case: one }) =>
      givesUp(part, one) && !lacksFamily(scenario, one) && choseItsOwn(one),
  },
  {
    what: 'Family in `ipFamily` without an address, or only excluded ones',
    cpi: 'a new Node is stuck; a running one keeps what it had',
    rollcall:
      'the other is written; a new Node waits for both, unless `nodes.requireAllFamilies` is `false`; a running one keeps its address, or says `FamilyMissing`',
    explains: ({ part, rollcall }, { scenario, case: one }) =>
      part === 'addresses' &&
      (lacksFamily(scenario, one) || isOfOneFamily(rollcall, familiesOf(scenario, one))),
  },
  {
    what: 'The same, with `--node-ip` of the other family alone',
    cpi: 'is stuck',
    rollcall: 'is initialized with that family',
    explains: ({ part, cpi }, { scenario, case: one }) =>
      part === 'initialized' && cpi === false && lacksFamily(scenario, one) && choseItsOwn(one),
  },
  {
    what: 'Spaces in a list of subnets: `10.0.0.0/8, fd00::/8`',
    cpi: 'is stuck',
    rollcall: 'are ignored',
    explains: ({ part }, { scenario: { nodes = {} }, case: one }) =>
      givesUp(part, one) && Object.values(nodes).some((list) => /, |\/\d+ /.test(list)),
  },
  {
    what: 'Multicast and broadcast addresses',
    cpi: 'are taken',
    rollcall: 'are not',
    explains: ({ part }, { case: one }) =>
      (part === 'addresses' || part === 'initialized') &&
      addressesOf(one).some((address) => /^(22[4-9]|23\d|255\.255\.255\.255|ff)/.test(address)),
  },
]

/** Whether one family alone is among a Node's addresses where two are configured. */
function isOfOneFamily(addresses: unknown, families: readonly IPFamily[]): boolean {
  const texts = ipsOf(addresses)
  return families.length === 2 && texts.some((each) => isIPv4(each)) !== texts.some((each) => isIPv6(each))
}

/** Whether all that the kubelet was given is on the machine. */
function choseItsOwn(one: ScenarioCase): boolean {
  const { nodeIP } = one.node ?? {}
  return nodeIP?.split(',').every((address) => addressesOf(one).includes(address)) === true
}

/** Whether a machine with addresses has none of a family that is configured. */
function lacksFamily(scenario: Scenario, one: ScenarioCase): boolean {
  return usableOf(one).length > 0 && isShort(scenario, one)
}

/** Whether a machine has no address of a family that is configured, so that its new Node waits. */
export function isShort(scenario: Scenario, one: ScenarioCase): boolean {
  const usable = usableOf(one)
  const has = { ipv4: usable.some((each) => isIPv4(each)), ipv6: usable.some((each) => isIPv6(each)) }
  return familiesOf(scenario, one).some((family) => !has[family])
}

function usableOf(one: ScenarioCase): readonly string[] {
  return addressesOf(one).filter((address) => !/^(127\.|169\.254\.|fe80:|::1$)/.test(address))
}
