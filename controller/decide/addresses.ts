import type { NodeAddress, NodeReportSpec } from '../../agent/contract.ts'
import type { Node } from '../facts/node.ts'
import type { VirtualMachine } from '../facts/virtual-machine.ts'
import {
  type Candidate,
  candidateAddresses,
  type Family,
  fromGuestNet,
  parseAddress,
} from './candidate-addresses.ts'
import { type NodeIPs, parseProvidedNodeIP } from './provided-node-ip.ts'
import { no, type Verdict, yes } from './verdict.ts'
import { TAINT_UNINITIALIZED } from './well-known.ts'

export interface Addresses {
  /** Undefined where none can be written; an initialised Node then keeps what it has. */
  readonly addresses: readonly NodeAddress[] | undefined
  readonly verdict: Verdict
}

/**
 * A Node's addresses: per family one InternalIP and the same as ExternalIP, as the CPI does where no subnets are
 * configured, then the Hostname. The kubelet's own choice (`--node-ip`) wins where it is one of the machine's verified
 * addresses; a family that is there is written, the other follows when it comes.
 */
export function chooseAddresses(spec: NodeReportSpec, vm: VirtualMachine, node: Node): Addresses {
  const candidates = candidateAddresses(spec, vm)
  const provided = parseProvidedNodeIP(node.providedNodeIP)
  if (!provided.ok) return { addresses: undefined, verdict: no('ProvidedIPMalformed', provided.message) }

  const missing = provided.ips.addresses.find(
    ({ address }) => !candidates.some((candidate) => candidate.address === address),
  )
  if (missing !== undefined) {
    return { addresses: undefined, verdict: no('ProvidedIPNotOnVM', notOnVM(missing.address, candidates)) }
  }
  const chosen = families(provided.ips)
    .map((family) => choose(family, candidates, provided.ips) ?? kept(family, node, vm))
    .filter((candidate) => candidate !== undefined)
  if (chosen.length === 0) return { addresses: undefined, verdict: noAddress(spec, vm) }

  const addresses: NodeAddress[] = chosen.flatMap(({ address }) => [
    { type: 'InternalIP', address },
    { type: 'ExternalIP', address },
  ])
  addresses.push({ type: 'Hostname', address: hostname(node, spec) })
  const words = chosen.map(({ address, source }) => `${address} (${source})`).join(', ')
  return { addresses, verdict: yes('Resolved', words) }
}

function families(ips: NodeIPs): readonly Family[] {
  if (ips.addresses.length > 0) return ips.addresses.map(({ family }) => family)
  return ips.preferred === 'ipv6' ? ['ipv6', 'ipv4'] : ['ipv4', 'ipv6']
}

function choose(family: Family, candidates: readonly Candidate[], ips: NodeIPs): Candidate | undefined {
  const wanted = ips.addresses.find((address) => address.family === family)
  return candidates.find(
    (candidate) =>
      candidate.family === family && (wanted === undefined || candidate.address === wanted.address),
  )
}

/**
 * A family that a running Node had and that the agent no longer sees: one look takes nothing away. It goes when
 * VMware Tools, which must have something to say, do not see it either (kubernetes/cloud-provider-vsphere#576).
 */
function kept(family: Family, node: Node, vm: VirtualMachine): Candidate | undefined {
  if (node.taints.some(({ key }) => key === TAINT_UNINITIALIZED)) return undefined
  const before = node.addresses
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => parseAddress(address))
    .find((parsed) => parsed?.family === family)
  if (before === undefined) return undefined
  const witnessed = fromGuestNet(vm)
  if (witnessed.length > 0 && !witnessed.some(({ address }) => address === before.address)) return undefined
  return { ...before, source: 'kept' }
}

/** The kubelet knows the name under which it asked for its serving certificate. */
function hostname(node: Node, spec: NodeReportSpec): string {
  const own = node.addresses.find(({ type }) => type === 'Hostname')?.address
  return [own, spec.hostname].find((name) => name !== undefined && isHostname(name)) ?? node.name
}

/** A DNS subdomain, in either case: what Kubernetes takes for a Hostname address has no other rule. */
function isHostname(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name)
}

function notOnVM(address: string, candidates: readonly Candidate[]): string {
  const seen = candidates.map((candidate) => candidate.address).join(', ') || 'none'
  return `the kubelet's --node-ip ${address} is not an address on the VM's vNICs (seen: ${seen}); set --node-ip to one of them or bring the address up`
}

function noAddress(spec: NodeReportSpec, vm: VirtualMachine): Verdict {
  const names = spec.interfaces.map(({ name }) => name).join(', ') || 'no interface'
  return no(
    'NoAddress',
    `neither the agent (${names}) nor VMware Tools (${vm.guestNICs.length} entries) sees a usable address on the VM's vNICs; bring the network up, the address follows by itself`,
  )
}
