import {
  factOfAddress,
  type NodeAddress,
  type NodeReportSpec,
} from '../../../../../agent/shared/node-report.ts'
import type { IPFamily, NodesConfig } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { needsInitialization } from '../../facts/needs-initialization.ts'
import type { AddressHolder, AddressWitness, NodeFacts } from '../node-facts.ts'
import {
  type CandidateAddress,
  candidateAddresses,
  fromGuestNet,
  networkOf,
  onVNICs,
  parseAddress,
} from './candidate-addresses.ts'
import { type AddressType, mayStay, sameNetwork } from './internal-and-external.ts'

/** An address that is another Node's. */
export type Taken = CandidateAddress & { readonly holder: AddressHolder }

export interface AddressHolders {
  readonly node: Node
  /** The addresses that this Node was verified with before. */
  readonly before: readonly NodeAddress[]
  /** Whether it was ever verified: what it shows besides is then its kubelet's word alone. */
  readonly wasBound: boolean
  /** Another Node that holds this address or this host name (lower case). */
  readonly holder: (address: string) => AddressHolder | undefined
  /** What vCenter says of an address of this Node. */
  readonly witness: (address: string) => AddressWitness
}

export interface CurrentAddress {
  readonly kind: AddressType
  readonly family: IPFamily
  /** Canonical text. */
  readonly address: string
}

/**
 * The addresses that are seen on a machine and those that its Node has already, without those of other Nodes.
 *
 * @param macs see `commonMACs`
 */
export function usableAddresses(
  spec: NodeReportSpec,
  vm: VirtualMachine,
  macs: readonly string[],
  holders: AddressHolders,
): {
  /** What a running Node has already. */
  readonly current: readonly CurrentAddress[]
  /** What this Node may have, best first. */
  readonly free: readonly CandidateAddress[]
  readonly taken: readonly Taken[]
  /** See `candidateAddresses`. */
  readonly networks: readonly (string | undefined)[]
} {
  const { candidates, networks } = candidateAddresses(spec, vm, macs)
  const current = currentAddresses(holders)
  return { current, networks, ...sortOut([...missed(candidates, spec, vm, current), ...candidates], holders) }
}

/**
 * A running Node's addresses: those that it was verified with, since a kubelet can write others; where it never was, those
 * that it has from another provider. A new Node has only what its kubelet wrote.
 */
function currentAddresses({ node, before }: AddressHolders): readonly CurrentAddress[] {
  if (needsInitialization(node)) return []
  const known: Node['addresses'] = before.length > 0 ? before : node.addresses
  return known.flatMap(({ type, address }) => {
    if (type !== 'InternalIP' && type !== 'ExternalIP') return []
    const parsed = parseAddress(address)
    return parsed === undefined ? [] : [{ kind: type, ...parsed }]
  })
}

/**
 * The addresses of a running Node that the agent misses and VMware Tools still report: a link that flaps or a lease that
 * is being renewed moves no Node. One that the agent sees and passes over, as deprecated, is not missed. Nor does a Node lose one
 * that the agent says it leaves out while Tools do not contradict it: they restart, and report nothing for a while.
 */
function missed(
  seen: readonly CandidateAddress[],
  spec: NodeReportSpec,
  vm: VirtualMachine,
  current: readonly CurrentAddress[],
): readonly CandidateAddress[] {
  if (current.length === 0) return []
  const byAgent = spec.interfaces.flatMap(({ addresses }) =>
    addresses.map(({ address }) => parseAddress(address)?.address),
  )
  const byTools = fromGuestNet(spec, vm)
  const leftOut = current.filter(
    ({ address, family }) =>
      spec.unreadable?.some(({ fact }) => fact === factOfAddress(address)) === true &&
      !byTools.some((each) => each.family === family),
  )
  const kept = new Map(leftOut.map((each) => [each.address, unseen(each)]))
  return [...byTools, ...kept.values()].filter(
    ({ address }) =>
      current.some((each) => each.address === address) &&
      !byAgent.includes(address) &&
      !seen.some((each) => each.address === address),
  )
}

/** A candidate that a Node has, and that nobody reports now. */
function unseen({ address, family }: CurrentAddress): CandidateAddress {
  return { address, family, source: 'kept', network: undefined, virtual: false }
}

/**
 * A report alone cannot take an address from the Node that was verified with it: traffic for one node, above all the API
 * server's to its kubelet, would reach another.
 */
function sortOut(
  candidates: readonly CandidateAddress[],
  holders: AddressHolders,
): { readonly free: readonly CandidateAddress[]; readonly taken: readonly Taken[] } {
  const { node, before, wasBound, holder, witness } = holders
  const free: CandidateAddress[] = []
  const taken: Taken[] = []
  for (const candidate of candidates) {
    const { address } = candidate
    const other = holder(address)
    if (other === undefined) {
      free.push(candidate)
      continue
    }
    const isIn = (own: readonly { readonly address: string }[]) =>
      own.some((each) => each.address === address)
    const hadIt = isIn(before)
    const showsIt = before.length === 0 && !wasBound && isIn(currentAddresses(holders))
    if (outranks({ node, witness: witness(address), hadIt, showsIt }, other)) free.push(candidate)
    else taken.push({ ...candidate, holder: other })
  }
  return { free, taken }
}

/**
 * Keeps an address of a running Node that is not seen any more, where the configuration still allows it. It is removed
 * only when VMware Tools report other addresses of its family but not this one either
 * (kubernetes/cloud-provider-vsphere#576): after a reboot they report IPv4 before IPv6.
 */
export function kept(
  current: CurrentAddress,
  seen: readonly CandidateAddress[],
  spec: NodeReportSpec,
  vm: VirtualMachine,
  context: AddressHolders & { readonly settings: { readonly nodes: NodesConfig } },
): CandidateAddress | undefined {
  const { kind, family, address } = current
  if (seen.some((each) => each.address === address)) return undefined
  const witnessed = fromGuestNet(spec, vm).filter((each) => each.family === family)
  if (witnessed.length > 0 && !witnessed.some((each) => each.address === address)) return undefined
  const candidate = unseen(current)
  return mayStay(kind, candidate, context.settings.nodes) ? sortOut([candidate], context).free[0] : undefined
}

/**
 * Those of the addresses that a Node was verified with that are another Node's by now: by VMware Tools' word, or, while nothing
 * can be verified of this one, as that one was verified with it since. A Node whose own VM is not seen takes none.
 *
 * @param witness what vCenter says of an address of this Node
 * @param refused whether nothing can be verified of this Node
 */
export function lostAddresses(
  addresses: readonly NodeAddress[],
  {
    addressHolder,
    witness,
    refused,
  }: Pick<NodeFacts, 'addressHolder'> & Pick<AddressHolders, 'witness'> & { readonly refused: boolean },
): readonly Pick<Taken, 'address' | 'holder'>[] {
  const own = addresses.flatMap(({ type, address }) => (type === 'Hostname' ? [] : [address]))
  return [...new Set(own)].flatMap((address) => {
    const holder = addressHolder(address)
    if (holder?.verified !== true || holder.unseen !== undefined) return []
    const { tools } = holder.witness
    const isLost = refused ? tools !== 'denied' : tools === 'shown' && witness(address).tools !== 'shown'
    return isLost ? [{ address, holder }] : []
  })
}

export const NO_WITNESS: AddressWitness = { tools: 'unknown', network: 'unknown' }

/**
 * What vCenter says about an address that a Node's agent reports, or once reported. While a VM does not run, what its Tools
 * said last is out of date.
 *
 * @param address canonical
 */
export function witnessOf(
  address: string,
  spec: NodeReportSpec | undefined,
  vm: VirtualMachine,
  { internalVmNetworkName, externalVmNetworkName }: NodesConfig,
): AddressWitness {
  if (machineState(vm) !== 'runs') return NO_WITNESS
  const told = onVNICs(vm).map(({ mac, addresses }) => ({
    mac,
    addresses: addresses.flatMap((each) => parseAddress(each.address) ?? []),
  }))
  const showing = told.filter(({ addresses }) => addresses.some((each) => each.address === address))
  const reporting = (spec?.interfaces ?? []).filter(({ addresses }) =>
    addresses.some((each) => parseAddress(each.address)?.address === address),
  )
  const macs = [...showing, ...reporting].map(({ mac }) => mac)
  const family = parseAddress(address)?.family
  const isLeftOut = spec?.unreadable?.some(({ fact }) => fact === factOfAddress(address)) === true
  // Which of the vNICs has an address that the agent leaves out, nobody knows.
  const mayDeny = (mac: string) => (macs.length === 0 ? !isLeftOut : macs.includes(mac))
  // Tools may leave out a NIC where there are many, or say nothing for a while: neither contradicts the address.
  const denies = told.some(
    ({ mac, addresses }) => mayDeny(mac) && addresses.some((each) => each.family === family),
  )
  const named = [internalVmNetworkName, externalVmNetworkName].filter((name) => name !== undefined)
  const networks = macs.flatMap((mac) => networkOf(vm, mac) ?? [])
  const isNamed = networks.some((network) => named.some((name) => sameNetwork(name, network)))
  return {
    tools: showing.length > 0 ? 'shown' : denies ? 'denied' : 'unknown',
    network: named.length === 0 || networks.length === 0 ? 'unknown' : isNamed ? 'named' : 'other',
  }
}

/**
 * Whether an address goes to this Node rather than to the one that holds it. vCenter decides if it supports one of them and
 * contradicts the other; otherwise the Node that had the address first keeps it. If both were verified with it, that is the one
 * that Tools show with it; else, or if neither was, the older Node. By its network alone, without Tools' word, nobody takes an
 * address from a Node that Tools show with it.
 */
export function outranks(
  {
    node,
    witness,
    hadIt,
    showsIt = false,
  }: {
    readonly node: Pick<Node, 'name' | 'creationTimestamp'>
    readonly witness: AddressWitness
    /** Whether it was verified with that address before. */
    readonly hadIt: boolean
    /** Whether it runs with that address and was never verified, as after another provider. */
    readonly showsIt?: boolean
  },
  holder: AddressHolder,
): boolean {
  const byTools = decided(witness.tools, holder.witness.tools, { pro: 'shown', con: 'denied' })
  const byNetwork = decided(witness.network, holder.witness.network, { pro: 'named', con: 'other' })
  const isShown = witness.tools === 'shown'
  const isOtherShown = holder.witness.tools === 'shown'
  const isByReportAlone = byNetwork === true && !isShown && isOtherShown && holder.verified
  const comesFirst = isShown === isOtherShown ? isOlder(node, holder) : isShown
  const keepsIt = hadIt
    ? !holder.verified || comesFirst
    : showsIt && !holder.verified && isOlder(node, holder)
  return byTools ?? (isByReportAlone ? undefined : byNetwork) ?? keepsIt
}

function decided<T>(
  own: T,
  other: T,
  { pro, con }: { readonly pro: T; readonly con: T },
): boolean | undefined {
  if (own === pro && other === con) return true
  return own === con && other === pro ? false : undefined
}

/** By name where both were created in the same second, so that the result does not depend on which of them is judged. */
export function isOlder(one: Pick<AddressHolder, 'name' | 'creationTimestamp'>, other: typeof one): boolean {
  const age = ({ creationTimestamp }: typeof one) =>
    Date.parse(creationTimestamp ?? '') || Number.POSITIVE_INFINITY
  return age(one) === age(other) ? one.name < other.name : age(one) < age(other)
}
