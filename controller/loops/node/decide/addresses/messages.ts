/** What is said of a Node's addresses, and what to do about them. */

import {
  FACT_ADDRESSES,
  factOfAddress,
  type NodeReportSpec,
} from '../../../../../agent/shared/node-report.ts'
import type { IPFamily } from '../../../../config/config.ts'
import { type ConditionValue, no, yes } from '../../../../types/condition-value.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { deletionHangs } from '../../facts/removal.ts'
import type { CandidateAddress } from './candidate-addresses.ts'
import type { Discovered } from './internal-and-external.ts'
import type { Taken } from './usable-addresses.ts'

/** The addresses that were chosen, with who saw them; InternalIP and ExternalIP apart only where they differ. */
function described(found: readonly Discovered[]): string {
  const seen = ({ address, source }: CandidateAddress, kind: string) => `${address} (${kind}${source})`
  return found
    .flatMap(({ internal, external }) => {
      if (internal !== undefined && internal.address === external?.address) return [seen(internal, '')]
      return [
        ...(internal === undefined ? [] : [seen(internal, 'internal, ')]),
        ...(external === undefined ? [] : [seen(external, 'external, ')]),
      ]
    })
    .join(', ')
}

/** @param leftOut of a family that nobody asked for */
export function resolved(found: readonly Discovered[], leftOut: readonly CandidateAddress[]): ConditionValue {
  const [other] = leftOut
  const rest =
    other === undefined
      ? ''
      : `; ${other.address} is left out, as ipFamily does not ask for ${NAMES[other.family]}`
  return yes('Resolved', `${described(found)}${rest}`)
}

export function ofAnotherNode(taken: readonly Taken[]): ConditionValue {
  const words = taken.slice(0, 4).map(({ address, holder }) => `${address} (of Node ${holder.name})`)
  const hanging = new Set(taken.flatMap(({ holder }) => deletionHangs(holder) ?? []))
  const [
    hangs = 'delete the other Node if its machine is gone, or find out why two machines have one address',
  ] = hanging
  const [silence = ''] = taken.flatMap(({ holder: { name, unseen } }) =>
    unseen === undefined ? [] : [`; vCenter does not say whether Node ${name} has it: ${unseen}`],
  )
  return no(
    'AddressOfAnotherNode',
    `an address of another Node is left out until that Node's machine is proven gone, or vCenter shows that it has another: ${words.join(', ')}; ${hangs}${silence}`,
  )
}

/** What is said of a Node whose addresses are not judged now, and that another Node has some of. */
export function givenToAnotherNode(lost: readonly Pick<Taken, 'address' | 'holder'>[]): ConditionValue {
  const words = lost.slice(0, 4).map(({ address, holder }) => `${address} (of Node ${holder.name})`)
  return no(
    'AddressOfAnotherNode',
    `another Node has been verified with an address that was this one's: ${words.join(', ')}; this Node's addresses are judged again once its VM is found and verified; if its machine still runs with that address, give one of the two machines another`,
  )
}

export function providedNotOnVM(
  address: string,
  candidates: readonly CandidateAddress[],
  spec: NodeReportSpec,
): ConditionValue {
  const facts = [factOfAddress(address), FACT_ADDRESSES]
  const cause = spec.unreadable?.find(({ fact }) => facts.includes(fact))
  const seen = candidates.map((candidate) => candidate.address).join(', ') || 'none'
  return no(
    'ProvidedIPNotOnVM',
    `the kubelet's --node-ip ${address} is not an address on the VM's vNICs (seen: ${seen}); set --node-ip to one of them or bring the address up${cause === undefined ? '' : `; the agent says: ${cause.message}`}`,
  )
}

export function providedOfOtherFamily(
  address: string,
  configured: readonly IPFamily[],
  vm: VirtualMachine,
): ConditionValue {
  return no(
    'ProvidedIPOfOtherFamily',
    `the kubelet's --node-ip ${address} is of a family that ipFamily of vCenter ${vm.vCenter.name} (${configured.join(', ')}) does not ask for; add the family there, or correct --node-ip`,
  )
}

export function providedExcluded(address: string): ConditionValue {
  return no(
    'ProvidedIPExcluded',
    `the kubelet's --node-ip ${address} is excluded by excludeInternalNetworkSubnetCidr and excludeExternalNetworkSubnetCidr under nodes; correct one of the two`,
  )
}

export function inOtherNetworks(networks: readonly (string | undefined)[]): ConditionValue {
  return no(
    'InOtherNetworks',
    `the VM is in ${networks.filter((name) => name !== '').join(', ') || 'no network'}, not in a network that internalVmNetworkName or externalVmNetworkName under nodes names; correct the names, or connect the VM`,
  )
}

export function networkUnknown(candidates: readonly CandidateAddress[], vm: VirtualMachine): ConditionValue {
  const unknown = candidates.filter(({ network }) => network === undefined).map(({ address }) => address)
  const tools = vm.unreadable.includes('guestNICs')
    ? 'the vCenter account is not allowed to read guest.net: give it the role Read-only'
    : 'VMware Tools have not reported it; this ends once they report from this VM'
  return no(
    'NetworkUnknown',
    `a network's name under nodes decides, and it is not known which network ${unknown.join(', ')} is in; ${tools}`,
  )
}

/** @param waits whether the Node is not initialized without it */
export function familyMissing(
  missing: readonly IPFamily[],
  found: readonly Discovered[],
  waits: boolean,
): ConditionValue {
  const names = missing.map((family) => NAMES[family]).join(', ')
  const consequence = waits
    ? ', and the Node waits for one (nodes.requireAllFamilies)'
    : ', and one is added once it is seen'
  return no(
    'FamilyMissing',
    `${described(found)}; ipFamily asks for ${names} too, but there is no such address${consequence}: bring one up, or take the family out of ipFamily`,
  )
}

export function noAddress(
  spec: NodeReportSpec,
  vm: VirtualMachine,
  {
    free,
    configured,
  }: { readonly free: readonly CandidateAddress[]; readonly configured: readonly IPFamily[] },
): ConditionValue {
  const [other] = free.filter(({ family }) => !configured.includes(family))
  const excluded = free.filter(({ family }) => configured.includes(family))
  if (excluded.length > 0) {
    const addresses = excluded.map(({ address }) => address).join(', ')
    return no(
      'NoAddress',
      `every address on the VM's vNICs is excluded (${addresses}); correct excludeInternalNetworkSubnetCidr and excludeExternalNetworkSubnetCidr under nodes, or bring another one up`,
    )
  }
  if (other !== undefined) {
    return no(
      'NoAddress',
      `the VM has no ${configured.map((family) => NAMES[family]).join(' or ')} address, and ipFamily of vCenter ${vm.vCenter.name} does not ask for ${other.address}; write ${other.family} there, or bring the network up`,
    )
  }
  const names = spec.interfaces.map(({ name }) => name).join(', ') || 'no interface'
  const tools = vm.unreadable.includes('guestNICs')
    ? 'the vCenter account is not allowed to read guest.net'
    : `${vm.guestNICs.length} entries`
  return no(
    'NoAddress',
    `neither the agent (${names}) nor VMware Tools (${tools}) sees a usable address on the VM's vNICs; bring the network up; the address follows by itself`,
  )
}

const NAMES: Readonly<Record<IPFamily, string>> = { ipv4: 'IPv4', ipv6: 'IPv6' }
