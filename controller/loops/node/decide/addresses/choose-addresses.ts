import ipaddr from 'ipaddr.js'
import type { NodeAddress, NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import type { DecisionConfig, IPFamily } from '../../../../config/config.ts'
import { type ConditionValue, no } from '../../../../types/condition-value.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { needsInitialization } from '../../facts/needs-initialization.ts'
import { type CandidateAddress, type NodeIPs, parseProvidedNodeIP } from './candidate-addresses.ts'
import {
  type AddressType,
  type Discovered,
  discover,
  mayBecome,
  mayStay,
  sameNetwork,
} from './internal-and-external.ts'
import * as because from './messages.ts'
import { type AddressHolders, kept, type Taken, usableAddresses } from './usable-addresses.ts'

export interface Addresses {
  /** Undefined where none can be written; an initialized Node then keeps those it has. */
  readonly addresses: readonly NodeAddress[] | undefined
  /** Whether a new Node has to wait for more, by the configuration. */
  readonly awaitsAddresses: boolean
  /** Those that were left out because other Nodes hold them. */
  readonly lost: readonly string[]
  /** The Nodes that hold them. */
  readonly holders: readonly string[]
  readonly condition: ConditionValue
}

/**
 * A Node's addresses in the CPI's order: the Hostname, then an InternalIP for each family of `ipFamily`, then an ExternalIP for
 * each, chosen by its precedence (see `discover`); those that the kubelet gives (`--node-ip`) go first.
 *
 * The kubelet's own choice wins where it is one of the machine's verified addresses and not excluded. A running Node keeps
 * the address that it has where the configuration does not prefer another: an order that changes moves no Node.
 */
export function chooseAddresses(
  spec: NodeReportSpec,
  vm: VirtualMachine,
  context: AddressHolders & {
    /** See `commonMACs`. */
    readonly macs: readonly string[]
    readonly settings: Pick<DecisionConfig, 'nodes' | 'ipFamilies'>
  },
): Addresses {
  const { node, macs, settings } = context
  const { nodes } = settings
  const configured = settings.ipFamilies[vm.vCenter.name] ?? DEFAULT_FAMILIES
  const { current, free, taken, networks } = usableAddresses(spec, vm, macs, context)
  const holders = [...new Set(taken.map(({ holder }) => holder.name))]
  const lost = taken.map(({ address }) => address)
  const none = (condition: ConditionValue): Addresses => ({
    addresses: undefined,
    awaitsAddresses: true,
    lost,
    holders,
    condition,
  })

  const provided = parseProvidedNodeIP(node.providedNodeIP)
  if (!provided.ok) return none(no('ProvidedIPMalformed', provided.message))
  const nodeIPs = provided.value
  const refusal = refuseProvided(nodeIPs, { spec, free, taken, configured, nodes, vm })
  if (refusal !== undefined) return none(refusal)
  if (isInOtherNetworks(networks, nodes)) return none(because.inOtherNetworks(networks))

  const asked = free.filter(({ address }) => nodeIPs.addresses.some((each) => each.address === address))
  const decided = asked.some((candidate) => mayBecome('InternalIP', candidate, nodes))
  const found: (Discovered & { readonly family: IPFamily })[] = []
  for (const family of withPreferredFirst(configured, nodeIPs)) {
    const wanted = nodeIPs.addresses.find((each) => each.family === family)?.address
    const ofFamily = free.filter((candidate) => candidate.family === family)
    const has = (kind: AddressType) => current.filter((each) => each.kind === kind && each.family === family)
    const internals = has('InternalIP').map(({ address }) => address)
    const externals = has('ExternalIP').map(({ address }) => address)
    const search = (first: string | undefined) =>
      discover(
        {
          internal: preferred(ofFamily, first, internals),
          // The first address is both: without an ExternalIP that is there, the InternalIP comes first here too.
          external: preferred(ofFamily, first, [...externals, ...internals]),
        },
        nodes,
      )
    const unasked = search(undefined)
    // As in the CPI, the kubelet's choice moves nothing where it would be taken anyway.
    const discovered = unasked && !takes(unasked, wanted) ? search(wanted) : unasked
    if (discovered === undefined && !decided) return none(because.networkUnknown(ofFamily, vm))
    const known = discovered ?? undecided(ofFamily, wanted, externals, nodes)
    const { internal, external } = withProvided(known, ofFamily, wanted, nodes)
    const keep = (kind: AddressType) => {
      const [first] = has(kind)
      return first && kept(first, [...free, ...taken], spec, vm, context)
    }
    found.push({
      family,
      internal: internal ?? keep('InternalIP'),
      external: external ?? keep('ExternalIP'),
    })
  }

  const there = found.filter(({ internal, external }) => internal !== undefined || external !== undefined)
  const leftOut = free.filter(({ family }) => !configured.includes(family))
  if (there.length === 0)
    return none(
      taken.length > 0 ? because.ofAnotherNode(taken) : because.noAddress(spec, vm, { free, configured }),
    )
  const chosen = there.flatMap(({ internal, external }) => [
    ...(internal === undefined ? [] : [{ type: 'InternalIP', address: internal.address } as const]),
    ...(external === undefined ? [] : [{ type: 'ExternalIP', address: external.address } as const]),
  ])
  // The kubelet's choice of one family is a choice against the other, which is not waited for.
  const required = nodeIPs.addresses.length === 0 ? configured : []
  const missing = required.filter((family) => !there.some((each) => each.family === family))
  return {
    addresses: addressList(spec, chosen, nodeIPs, context),
    awaitsAddresses: missing.length > 0 && nodes.requireAllFamilies,
    lost,
    holders,
    condition:
      taken.length > 0
        ? because.ofAnotherNode(taken)
        : missing.length > 0
          ? because.familyMissing(missing, there, nodes.requireAllFamilies && needsInitialization(node))
          : because.resolved(there, leftOut),
  }
}

/** As in the CPI. The configuration has families for every vCenter. */
const DEFAULT_FAMILIES: readonly IPFamily[] = ['ipv4']

/** Why the kubelet's choice cannot be followed. The CPI fails a Node for the same, and keeps a running one as it is. */
function refuseProvided(
  { addresses }: NodeIPs,
  {
    spec,
    free,
    taken,
    configured,
    nodes,
    vm,
  }: {
    readonly spec: NodeReportSpec
    readonly free: readonly CandidateAddress[]
    readonly taken: readonly Taken[]
    readonly configured: readonly IPFamily[]
    readonly nodes: DecisionConfig['nodes']
    readonly vm: VirtualMachine
  },
): ConditionValue | undefined {
  for (const { address, family } of addresses) {
    const candidate = free.find((each) => each.address === address)
    const other = taken.find((each) => each.address === address)
    if (other !== undefined) return because.ofAnotherNode([other])
    if (candidate === undefined) return because.providedNotOnVM(address, free, spec)
    if (!configured.includes(family)) return because.providedOfOtherFamily(address, configured, vm)
    if (!mayBecome('InternalIP', candidate, nodes) && !mayBecome('ExternalIP', candidate, nodes))
      return because.providedExcluded(address)
  }
  return undefined
}

/** Whether both networks are named and the VM is known to be in neither: the CPI then takes no address at all. */
function isInOtherNetworks(
  networks: readonly (string | undefined)[],
  { internalVmNetworkName: internal, externalVmNetworkName: external }: DecisionConfig['nodes'],
): boolean {
  if (internal === undefined || external === undefined || networks.length === 0) return false
  return networks.every(
    (name) => name !== undefined && !sameNetwork(name, internal) && !sameNetwork(name, external),
  )
}

function withPreferredFirst(
  configured: readonly IPFamily[],
  { preferred: first }: NodeIPs,
): readonly IPFamily[] {
  return first === undefined
    ? configured
    : configured.toSorted((a, b) => Number(b === first) - Number(a === first))
}

/** The kubelet's address first, then those that the Node has, unless they look virtual, then the others in their order. */
function preferred(
  candidates: readonly CandidateAddress[],
  wanted: string | undefined,
  current: readonly string[],
): readonly CandidateAddress[] {
  const rank = ({ address, virtual }: CandidateAddress) => {
    if (address === wanted) return -1
    const place = virtual ? -1 : current.indexOf(address)
    return place === -1 ? current.length : place
  }
  return candidates.toSorted((a, b) => rank(a) - rank(b))
}

function takes({ internal, external }: Discovered, wanted: string | undefined): boolean {
  return wanted === undefined || internal?.address === wanted || external?.address === wanted
}

/** Where the network's name would decide and nobody knows it: the kubelet's address, and the ExternalIP that the Node has. */
function undecided(
  candidates: readonly CandidateAddress[],
  wanted: string | undefined,
  has: readonly string[],
  nodes: DecisionConfig['nodes'],
): Discovered {
  return {
    internal: candidates.find((each) => each.address === wanted && mayBecome('InternalIP', each, nodes)),
    external: candidates.find((each) => has.includes(each.address) && mayStay('ExternalIP', each, nodes)),
  }
}

/** The kubelet's address becomes one of the two, if need be against subnets and networks, but not where it is excluded. */
function withProvided(
  found: Discovered,
  candidates: readonly CandidateAddress[],
  wanted: string | undefined,
  nodes: DecisionConfig['nodes'],
): Discovered {
  const candidate = candidates.find(({ address }) => address === wanted)
  if (candidate === undefined || takes(found, wanted)) return found
  return mayBecome('InternalIP', candidate, nodes)
    ? { ...found, internal: candidate }
    : { ...found, external: candidate }
}

/** A Node's addresses as they are written: its Hostname, and `chosen` with the kubelet's own first. */
function addressList(
  spec: NodeReportSpec,
  chosen: readonly NodeAddress[],
  nodeIPs: NodeIPs,
  holders: AddressHolders,
): readonly NodeAddress[] {
  return byType(putFirst(nodeIPs, [{ type: 'Hostname', address: hostname(spec, holders) }, ...chosen]))
}

/**
 * The name by which the kubelet requested its serving certificate: its own, else the guest's, else the Node's. Another Node's
 * name is not taken over, because clients and certificate approvers rely on this list.
 */
function hostname({ hostname: guest }: NodeReportSpec, { node, holder }: AddressHolders): string {
  const own = node.addresses.find(({ type }) => type === 'Hostname')?.address
  // An IP address as a name would block the Node that really has this address.
  const free = (name: string) =>
    holder(name.toLowerCase()) === undefined &&
    (name === node.name || !ipaddr.IPv4.isValidFourPartDecimal(name))
  return [own, guest].find((name) => name !== undefined && isHostname(name) && free(name)) ?? node.name
}

/** Whether it is a DNS subdomain, in either case; Kubernetes itself has no rule for Hostname addresses. */
function isHostname(name: string): boolean {
  return name.length <= 253 && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name)
}

/**
 * Puts the kubelet's addresses first. Of a type that has one of them, no other address remains
 * (`GetNodeAddressesFromNodeIP` in `k8s.io/cloud-provider/node/helpers`).
 */
function putFirst({ addresses: wanted }: NodeIPs, addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  const first = wanted.flatMap(({ address }) => addresses.filter((each) => each.address === address))
  const types = new Set(first.map(({ type }) => type))
  return [...first, ...addresses.filter(({ type }) => !types.has(type))]
}

/** As those stand that the CPI writes: the API server puts what is of one type together when it applies such a patch. */
function byType(addresses: readonly NodeAddress[]): readonly NodeAddress[] {
  return Object.values(Object.groupBy(addresses, ({ type }) => type)).flat()
}
