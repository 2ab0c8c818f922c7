import type { NodesConfig } from '../../../../config/config.ts'
import { contains } from '../../../../lib/subnet.ts'
import type { CandidateAddress } from './candidate-addresses.ts'

export type AddressType = 'InternalIP' | 'ExternalIP'

/** Of one family. Either may be missing, as in the CPI: where only one of them is found, the other is not made up. */
export interface Discovered {
  readonly internal: CandidateAddress | undefined
  readonly external: CandidateAddress | undefined
}

/**
 * Chooses among the addresses of one family by the CPI's precedence (`discoverIPs` in its nodemanager.go): what is excluded
 * does not count; a subnet decides first, then the name of a network. Only where neither finds anything for either kind,
 * the first address that is left becomes both.
 *
 * Takes the candidates of one family, best first for each of the two.
 * @returns undefined where a network's name decides and it is not known which network an address is in
 */
export function discover(
  { internal, external }: Readonly<Record<'internal' | 'external', readonly CandidateAddress[]>>,
  nodes: NodesConfig,
): Discovered | undefined {
  const inside = search(internal, INTERNAL(nodes))
  const outside = search(external, EXTERNAL(nodes))
  if (inside.unknown || outside.unknown) return undefined
  if (inside.found !== undefined || outside.found !== undefined)
    return { internal: inside.found, external: outside.found }
  return {
    internal: inside.allowed[0],
    external: nodes.externalIP === 'none' ? undefined : outside.allowed[0],
  }
}

/** Whether an address may become InternalIP or ExternalIP at all. */
export function mayBecome(kind: AddressType, { address }: CandidateAddress, nodes: NodesConfig): boolean {
  const { excluded } = kind === 'InternalIP' ? INTERNAL(nodes) : EXTERNAL(nodes)
  return !excluded.some((subnet) => contains(subnet, address))
}

/** Whether a running Node may keep an address that is not seen: no ExternalIP where the configuration makes none up. */
export function mayStay(kind: AddressType, candidate: CandidateAddress, nodes: NodesConfig): boolean {
  const { subnets, network } = EXTERNAL(nodes)
  const none = nodes.externalIP === 'none' && subnets.length === 0 && network === undefined
  return mayBecome(kind, candidate, nodes) && !(kind === 'ExternalIP' && none)
}

/** Whether two names mean one network: in any case, as in the CPI. */
export function sameNetwork(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

interface Rules {
  readonly subnets: readonly string[]
  readonly network: string | undefined
  readonly excluded: readonly string[]
}

const INTERNAL = (nodes: NodesConfig): Rules => ({
  subnets: nodes.internalNetworkSubnetCidr,
  network: nodes.internalVmNetworkName,
  excluded: nodes.excludeInternalNetworkSubnetCidr,
})

const EXTERNAL = (nodes: NodesConfig): Rules => ({
  subnets: nodes.externalNetworkSubnetCidr,
  network: nodes.externalVmNetworkName,
  excluded: nodes.excludeExternalNetworkSubnetCidr,
})

function search(candidates: readonly CandidateAddress[], { subnets, network, excluded }: Rules) {
  const allowed = candidates.filter(({ address }) => !excluded.some((subnet) => contains(subnet, address)))
  const [inSubnet] = subnets.flatMap((subnet) =>
    allowed.filter(({ address }) => contains(subnet, address)).slice(0, 1),
  )
  if (inSubnet !== undefined || network === undefined) return { allowed, found: inSubnet, unknown: false }
  const found = allowed.find(
    (candidate) => candidate.network !== undefined && sameNetwork(candidate.network, network),
  )
  const unknown = found === undefined && allowed.some((candidate) => candidate.network === undefined)
  return { allowed, found, unknown }
}
