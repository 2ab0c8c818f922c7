/** What a running Node has already. */
import type { NodeReportSpec } from '../../../agent/shared/node-report.ts'
import type { NodesConfig } from '../../config/config.ts'
import { needsInitialization } from '../../node/initialization.ts'
import type { Node } from '../../types/node.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { type CandidateAddress, type Family, fromGuestNet, parseAddress } from './candidate-addresses.ts'
import { type AddressType, mayStay } from './discover.ts'
import { type AddressHolders, sortOut } from './taken.ts'

export interface CurrentAddress {
  readonly kind: AddressType
  readonly family: Family
  /** Canonical text. */
  readonly address: string
}

/**
 * A running Node's addresses: those that it was verified with, since a kubelet can write others; where it never was, those
 * that it has from another provider. A new Node has only what its kubelet wrote.
 */
export function currentAddresses({
  node,
  before,
}: Pick<AddressHolders, 'before'> & { readonly node: Node }): readonly CurrentAddress[] {
  if (needsInitialization(node)) return []
  const known: Node['addresses'] = before.length > 0 ? before : node.addresses
  return known.flatMap(({ type, address }) => {
    if (type !== 'InternalIP' && type !== 'ExternalIP') return []
    const parsed = parseAddress(address)
    return parsed === undefined ? [] : [{ kind: type, ...parsed }]
  })
}

/**
 * Adds the addresses of a running Node that the agent misses and VMware Tools still report: a link that flaps or a lease that
 * is being renewed moves no Node. One that the agent sees and passes over, as deprecated, is not missing.
 */
export function withCurrent(
  seen: readonly CandidateAddress[],
  spec: NodeReportSpec,
  vm: VirtualMachine,
  current: readonly CurrentAddress[],
): readonly CandidateAddress[] {
  if (current.length === 0) return seen
  const byAgent = spec.interfaces.flatMap(({ addresses }) =>
    addresses.map(({ address }) => parseAddress(address)?.address),
  )
  const missed = fromGuestNet(spec, vm).filter(
    ({ address }) =>
      current.some((each) => each.address === address) &&
      !byAgent.includes(address) &&
      !seen.some((each) => each.address === address),
  )
  return [...missed, ...seen]
}

/**
 * Keeps an address of a running Node that is not seen any more, where the configuration still allows it. It is removed
 * only when VMware Tools report other addresses of its family but not this one either
 * (kubernetes/cloud-provider-vsphere#576): after a reboot they report IPv4 before IPv6.
 */
export function kept(
  { kind, family, address }: CurrentAddress,
  seen: readonly CandidateAddress[],
  spec: NodeReportSpec,
  vm: VirtualMachine,
  context: AddressHolders & { readonly settings: { readonly nodes: NodesConfig } },
): CandidateAddress | undefined {
  if (seen.some((each) => each.address === address)) return undefined
  const witnessed = fromGuestNet(spec, vm).filter((each) => each.family === family)
  if (witnessed.length > 0 && !witnessed.some((each) => each.address === address)) return undefined
  const candidate = { address, family, source: 'kept', network: undefined, virtual: false }
  return mayStay(kind, candidate, context.settings.nodes) ? sortOut([candidate], context).free[0] : undefined
}
