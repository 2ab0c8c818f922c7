import type { NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import type { NodesConfig } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { AddressHolder, AddressWitness } from '../node-facts.ts'
import { networkOf, onVNICs, parseAddress } from './candidate-addresses.ts'
import { sameNetwork } from './internal-and-external.ts'

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
  // Tools may leave out a NIC where there are many, or say nothing for a while: neither contradicts the address.
  const denies = told.some(
    ({ mac, addresses }) =>
      (macs.length === 0 || macs.includes(mac)) && addresses.some((each) => each.family === family),
  )
  const named = [internalVmNetworkName, externalVmNetworkName].filter((name) => name !== undefined)
  const networks = macs.flatMap((mac) => networkOf(vm, mac) ?? [])
  const isNamed = networks.some((network) => named.some((name) => sameNetwork(name, network)))
  return {
    tools: showing.length > 0 ? 'shown' : denies ? 'denied' : 'unknown',
    network: named.length === 0 || networks.length === 0 ? 'unknown' : isNamed ? 'named' : 'other',
  }
}

/** A Node that wants an address which another one holds. */
interface AddressClaimant {
  readonly node: Pick<Node, 'name' | 'creationTimestamp'>
  readonly witness: AddressWitness
  /** Whether it was verified with that address before. */
  readonly hadIt: boolean
}

/**
 * Whether an address goes to this Node rather than to the one that holds it. vCenter decides if it supports one of them and
 * contradicts the other; otherwise the Node that had the address first keeps it. If both were verified with it, that is the
 * older Node.
 */
export function outranks({ node, witness, hadIt }: AddressClaimant, holder: AddressHolder): boolean {
  const byTools = decided(witness.tools, holder.witness.tools, { pro: 'shown', con: 'denied' })
  const byNetwork = decided(witness.network, holder.witness.network, { pro: 'named', con: 'other' })
  return byTools ?? byNetwork ?? (hadIt && (!holder.verified || isOlder(node, holder)))
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
