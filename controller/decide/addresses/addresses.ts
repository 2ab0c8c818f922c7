import ipaddr from 'ipaddr.js'
import type { NodeAddress, NodeReportSpec } from '../../../agent/contract.ts'
import { isUninitialized } from '../../node/uninitialized.ts'
import type { Node } from '../../types/node.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { type ConditionValue, no, yes } from '../condition.ts'
import {
  type CandidateAddress,
  candidateAddresses,
  type Family,
  fromGuestNet,
  parseAddress,
} from './candidate-addresses.ts'

export interface AddressContext {
  readonly node: Node
  /** The addresses that this Node was verified with before. */
  readonly before: readonly NodeAddress[]
  /** Another Node that holds this address or this host name (lower case). */
  readonly holder: (address: string) => string | undefined
}

export interface Addresses {
  /** Undefined where none can be written; an initialised Node then keeps those it has. */
  readonly addresses: readonly NodeAddress[] | undefined
  /** Nodes that hold the addresses which were left out. */
  readonly holders: readonly string[]
  readonly condition: ConditionValue
}

/**
 * A Node's addresses: per family one InternalIP and the same as ExternalIP, as the CPI does where no subnets are
 * configured, then the Hostname. The kubelet's own choice (`--node-ip`) wins where it is one of the machine's verified
 * addresses. Each family is written as soon as there is an address of it.
 */
export function chooseAddresses(
  spec: NodeReportSpec,
  vm: VirtualMachine,
  context: AddressContext,
): Addresses {
  const { node } = context
  const { free, taken } = sortOut(candidateAddresses(spec, vm), context)
  const contested = taken.length > 0
  const holders = [...new Set(taken.map(({ holder }) => holder))]
  const none = (condition: ConditionValue): Addresses => ({ addresses: undefined, holders, condition })
  const provided = parseProvidedNodeIP(node.providedNodeIP)
  if (!provided.ok) return none(no('ProvidedIPMalformed', provided.message))

  const missing = provided.ips.addresses.find(({ address }) => !free.some((one) => one.address === address))
  if (missing !== undefined) {
    const other = taken.find(({ address }) => address === missing.address)
    return none(other ? ofAnotherNode([other]) : no('ProvidedIPNotOnVM', notOnVM(missing.address, free)))
  }
  const chosen = families(provided.ips)
    .map((family) => choose(family, free, provided.ips) ?? kept(family, vm, context))
    .filter((candidate) => candidate !== undefined)
  if (chosen.length === 0) return none(contested ? ofAnotherNode(taken) : noAddress(spec, vm))

  const addresses: NodeAddress[] = chosen.flatMap(({ address }) => [
    { type: 'InternalIP', address },
    { type: 'ExternalIP', address },
  ])
  addresses.push({ type: 'Hostname', address: hostname(spec, context) })
  const words = chosen.map(({ address, source }) => `${address} (${source})`).join(', ')
  return { addresses, holders, condition: contested ? ofAnotherNode(taken) : yes('Resolved', words) }
}

type Taken = CandidateAddress & { readonly holder: string }

/**
 * A report cannot take an address from the Node that was verified with it: traffic for one node, above all the API
 * server's to its kubelet, would reach another. The Node that had the address first keeps it.
 */
function sortOut(
  candidates: readonly CandidateAddress[],
  { before, holder }: AddressContext,
): { free: CandidateAddress[]; taken: Taken[] } {
  const free: CandidateAddress[] = []
  const taken: Taken[] = []
  for (const candidate of candidates) {
    const { address } = candidate
    const other = before.some((own) => own.address === address) ? undefined : holder(address)
    if (other === undefined) free.push(candidate)
    else taken.push({ ...candidate, holder: other })
  }
  return { free, taken }
}

function ofAnotherNode(taken: readonly Taken[]): ConditionValue {
  const words = taken.slice(0, 4).map(({ address, holder }) => `${address} is that of Node ${holder}`)
  return no(
    'AddressOfAnotherNode',
    `${words.join(', ')}, and is left out until that Node's machine is proven gone; delete that Node, or find out why two machines have one address`,
  )
}

function families(ips: NodeIPs): readonly Family[] {
  if (ips.addresses.length > 0) return ips.addresses.map(({ family }) => family)
  return ips.preferred === 'ipv6' ? ['ipv6', 'ipv4'] : ['ipv4', 'ipv6']
}

function choose(
  family: Family,
  candidates: readonly CandidateAddress[],
  ips: NodeIPs,
): CandidateAddress | undefined {
  const wanted = ips.addresses.find((address) => address.family === family)
  return candidates.find(
    (candidate) =>
      candidate.family === family && (wanted === undefined || candidate.address === wanted.address),
  )
}

/**
 * Keeps the address of a family that the agent no longer sees. It is removed only when VMware Tools report other addresses
 * but not this one either (kubernetes/cloud-provider-vsphere#576).
 */
function kept(family: Family, vm: VirtualMachine, context: AddressContext): CandidateAddress | undefined {
  if (isUninitialized(context.node)) return undefined
  const before = context.node.addresses
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => parseAddress(address))
    .find((parsed) => parsed?.family === family)
  if (before === undefined || sortOut([{ ...before, source: 'kept' }], context).free.length === 0)
    return undefined
  const witnessed = fromGuestNet(vm)
  if (witnessed.length > 0 && !witnessed.some(({ address }) => address === before.address)) return undefined
  return { ...before, source: 'kept' }
}

/**
 * The name by which the kubelet requested its serving certificate. Another Node's name is not taken over, because clients
 * and certificate approvers rely on this list.
 */
function hostname(spec: NodeReportSpec, { node, holder }: AddressContext): string {
  const own = node.addresses.find(({ type }) => type === 'Hostname')?.address
  // An IP address as a name would block the Node that really has this address.
  const free = (name: string) =>
    holder(name.toLowerCase()) === undefined &&
    (name === node.name || !ipaddr.IPv4.isValidFourPartDecimal(name))
  return (
    [own, spec.hostname].find((name) => name !== undefined && isHostname(name) && free(name)) ?? node.name
  )
}

/** Whether it is a DNS subdomain, in either case; Kubernetes itself has no rule for Hostname addresses. */
function isHostname(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name)
}

function notOnVM(address: string, candidates: readonly CandidateAddress[]): string {
  const seen = candidates.map((candidate) => candidate.address).join(', ') || 'none'
  return `the kubelet's --node-ip ${address} is not an address on the VM's vNICs (seen: ${seen}); set --node-ip to one of them or bring the address up`
}

function noAddress(spec: NodeReportSpec, vm: VirtualMachine): ConditionValue {
  const names = spec.interfaces.map(({ name }) => name).join(', ') || 'no interface'
  const tools = vm.unreadable.includes('guestNICs')
    ? 'the vCenter account may not read guest.net'
    : `${vm.guestNICs.length} entries`
  return no(
    'NoAddress',
    `neither the agent (${names}) nor VMware Tools (${tools}) sees a usable address on the VM's vNICs; bring the network up, the address follows by itself`,
  )
}

/** What the kubelet's `--node-ip` asks for. */
interface NodeIPs {
  /** At most one per family, in the kubelet's order. */
  readonly addresses: readonly { readonly address: string; readonly family: Family }[]
  /** `0.0.0.0` or `::` names no address, only the family that comes first. */
  readonly preferred: Family | undefined
}

/**
 * Reads the annotation `alpha.kubernetes.io/provided-node-ip`: one address, or two of different families with a comma
 * (KEP-3705); an unspecified one states a preference only (`k8s.io/cloud-provider/node/helpers`).
 */
function parseProvidedNodeIP(
  text: string | undefined,
): { ok: true; ips: NodeIPs } | { ok: false; message: string } {
  if (text === undefined || text.trim() === '')
    return { ok: true, ips: { addresses: [], preferred: undefined } }
  const addresses: { address: string; family: Family }[] = []
  let preferred: Family | undefined
  for (const part of text.split(',').map((item) => item.trim())) {
    if (ipaddr.isValid(part) && ipaddr.process(part).range() === 'unspecified') {
      preferred = ipaddr.process(part).kind()
      continue
    }
    const parsed = parseAddress(part)
    if (parsed === undefined || addresses.some(({ family }) => family === parsed.family)) {
      return {
        ok: false,
        message: `the annotation alpha.kubernetes.io/provided-node-ip (${text.length} characters) is neither one address nor one of each family; correct the kubelet's --node-ip`,
      }
    }
    addresses.push(parsed)
  }
  return { ok: true, ips: { addresses, preferred } }
}
