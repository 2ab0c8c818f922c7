/** Which addresses the docs give a new Node without an agent, by code of its own: the product chooses by other. */
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import type { IPFamily } from '../../controller/config/config.ts'
import type { NodeObject } from '../world/objects.ts'
import { ipsOf, sharedAddresses } from './differences/row.ts'
import type { Scenario, ScenarioCase } from './scenario.ts'

const KINDS = ['InternalIP', 'ExternalIP'] as const
type Kind = (typeof KINDS)[number]

/** A line for each rule that a new Node's addresses break. */
export function brokenAddresses(
  { metadata, status }: Pick<NodeObject, 'metadata' | 'status'>,
  scenario: Scenario,
  one: ScenarioCase,
): readonly string[] {
  const all = status.addresses ?? []
  const names = all.filter(({ type }) => type === 'Hostname').map(({ address }) => address)
  const of = (kind: Kind) => all.filter(({ type }) => type === kind).map(({ address }) => address)
  return [
    ...wrong('its list of names', names, [metadata.name]),
    ...(of('InternalIP').length + of('ExternalIP').length === 0 ? ['it has no address'] : []),
    ...KINDS.flatMap((kind) => ofKind(kind, of(kind), scenario, one)),
    ...(asked(one).length > 0
      ? followsKubelet(all, one)
      : followsSettings({ InternalIP: of('InternalIP'), ExternalIP: of('ExternalIP') }, scenario, one)),
  ]
}

/** Those of its machine's vNICs that other machines could reach, static ones first. */
function usable({ vm = {} }: ScenarioCase): readonly Usable[] {
  const all = (vm.nics ?? [])
    .filter(({ deviceConfigId }) => deviceConfigId !== -1)
    .flatMap(({ network = '', addresses }) =>
      addresses.map((each) => ({ address: bare(each), network: network.toLowerCase() })),
    )
    .filter(({ address }) => !UNUSABLE.test(address))
  const fixed = (vm.staticAddresses ?? []).map(bare)
  const first = fixed.flatMap((each) => all.filter(({ address }) => address === each))
  return [...first, ...all.filter((each) => !first.includes(each))]
}

interface Usable {
  readonly address: string
  readonly network: string
}

const UNUSABLE = /^(0\.0\.0\.0$|127\.|169\.254\.|22[4-9]\.|23\d\.|255\.255\.255\.255$|fe80:|ff|::1?$)/

/** Each on a vNIC of its machine, of a configured family, one of each, and not excluded. */
function ofKind(
  kind: Kind,
  addresses: readonly string[],
  scenario: Scenario,
  one: ScenarioCase,
): readonly string[] {
  const families = familiesOf(scenario, one)
  const { excluded } = settingsOf(kind, scenario)
  const own = one.vm?.nics === undefined ? undefined : usable(one).map(({ address }) => address)
  return [
    ...addresses.flatMap((address) => [
      ...(own?.includes(address) === false ? [`its ${kind} ${address} is none of its machine`] : []),
      ...(UNUSABLE.test(address) ? [`its ${kind} ${address} reaches no machine`] : []),
      ...(families.includes(familyOf(address)) ? [] : [`its ${kind} ${address} is of no configured family`]),
      ...(inOneOf(excluded, address) ? [`its ${kind} ${address} is excluded`] : []),
    ]),
    ...(new Set(addresses.map(familyOf)).size < addresses.length
      ? [`it has ${kind} twice of one family`]
      : []),
  ]
}

/** No address is on two of the Nodes that were initialized. */
export function sharedWithOthers(node: NodeObject, initialized: readonly NodeObject[]): readonly string[] {
  const others = initialized
    .filter((other) => other !== node)
    .flatMap(({ status }) => ipsOf(status.addresses))
  return [...new Set(ipsOf(node.status.addresses))]
    .filter((address) => others.includes(address))
    .map((address) => `its ${address} is another Node's, too`)
}

/** What the kubelet was given comes first, and no other address is of its type. */
function followsKubelet(all: readonly Address[], one: ScenarioCase): readonly string[] {
  const wanted = asked(one)
  const lacking = wanted.filter((address) => !all.some((each) => each.address === address))
  const types = new Set(all.filter(({ address }) => wanted.includes(address)).map(({ type }) => type))
  const others = all.filter(({ type, address }) => types.has(type) && !wanted.includes(address))
  return [
    ...lacking.map((address) => `it lacks the kubelet's ${address}`),
    ...others.map(({ type, address }) => `it has the ${type} ${address} beside the kubelet's`),
    ...wrong('its first address', all.find(({ type }) => type !== 'Hostname')?.address, wanted[0]),
  ]
}

interface Address {
  readonly type: string
  readonly address: string
}

/** Of each family in their order the one that subnets, networks or the order decide on. */
function followsSettings(
  chosen: Readonly<Record<Kind, readonly string[]>>,
  scenario: Scenario,
  one: ScenarioCase,
): readonly string[] {
  // Which of two Nodes gets an address that both have is left open.
  if (one.vm?.nics === undefined || sharedAddresses(scenario.cases, one).size > 0) return []
  const families = familiesOf(scenario, one)
  const should = families.map((family) =>
    decided(
      scenario,
      usable(one).filter(({ address }) => familyOf(address) === family),
    ),
  )
  return [
    ...families.flatMap((family, index) =>
      should[index]?.InternalIP === undefined && should[index]?.ExternalIP === undefined
        ? [`it does not wait for ${family}`]
        : [],
    ),
    ...KINDS.flatMap((kind) => {
      const addresses = should.flatMap((each) => each[kind] ?? [])
      // A choice of `::` says which family comes first.
      return one.node?.nodeIP === undefined
        ? wrong(`its ${kind}`, chosen[kind], addresses)
        : wrong(`its ${kind}`, chosen[kind].toSorted(), addresses.toSorted())
    }),
  ]
}

function decided(
  scenario: Scenario,
  addresses: readonly Usable[],
): Readonly<Record<Kind, string | undefined>> {
  const [internal, external] = KINDS.map((kind) => {
    const { subnets, network, excluded } = settingsOf(kind, scenario)
    const allowed = addresses.filter(({ address }) => !inOneOf(excluded, address))
    const bySubnet = subnets.flatMap((subnet) => allowed.filter(({ address }) => inOneOf([subnet], address)))
    const byNetwork = allowed.filter((each) => each.network === network)
    return { found: (bySubnet[0] ?? byNetwork[0])?.address, first: allowed[0]?.address }
  })
  return internal?.found === undefined && external?.found === undefined
    ? { InternalIP: internal?.first, ExternalIP: external?.first }
    : { InternalIP: internal?.found, ExternalIP: external?.found }
}

function settingsOf(kind: Kind, { nodes = {} }: Scenario) {
  const list = (text = '') => text.split(',').flatMap((each) => each.trim() || [])
  return kind === 'InternalIP'
    ? {
        subnets: list(nodes.internalNetworkSubnetCidr),
        network: nodes.internalVmNetworkName?.toLowerCase(),
        excluded: list(nodes.excludeInternalNetworkSubnetCidr),
      }
    : {
        subnets: list(nodes.externalNetworkSubnetCidr),
        network: nodes.externalVmNetworkName?.toLowerCase(),
        excluded: list(nodes.excludeExternalNetworkSubnetCidr),
      }
}

/** Those that are configured for the vCenter of its machine. */
export function familiesOf(
  { ipFamily = ['ipv4'], second = {} }: Scenario,
  { vm = {} }: ScenarioCase,
): readonly IPFamily[] {
  return vm.second === true ? (second.ipFamily ?? ipFamily) : ipFamily
}

/** The addresses that the kubelet was given; `::` and `0.0.0.0` are none. */
function asked({ node = {} }: ScenarioCase): readonly string[] {
  const texts = (node.nodeIP ?? '').split(',').map((each) => each.trim())
  return texts.filter((each) => each !== '' && each !== '::' && each !== '0.0.0.0')
}

function familyOf(address: string): IPFamily {
  return isIPv6(address) ? 'ipv6' : 'ipv4'
}

function inOneOf(subnets: readonly string[], address: string): boolean {
  return subnets.some((subnet) => {
    const [network = '', length] = subnet.split('/')
    if (familyOf(network) !== familyOf(address)) return false
    const list = new BlockList()
    list.addSubnet(network, Number(length), isIPv4(network) ? 'ipv4' : 'ipv6')
    return list.check(address, familyOf(address))
  })
}

/** Without its prefix length. */
function bare(address: string): string {
  return address.split('/')[0] ?? ''
}

/** A line where a part of a Node is not as it should be. */
export function wrong(what: string, is: unknown, should: unknown): readonly string[] {
  return isDeepStrictEqual(is, should)
    ? []
    : [`${what} is ${JSON.stringify(is)}, not ${JSON.stringify(should)}`]
}
