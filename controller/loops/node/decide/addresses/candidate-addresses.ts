import { isIPv4, isIPv6 } from 'node:net'
import ipaddr from 'ipaddr.js'
import type { InterfaceAddress, NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { failed, ok, type Result } from '../../../../../agent/shared/result.ts'
import type { IPFamily } from '../../../../config/config.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'

export interface CandidateAddress {
  /** Canonical text. */
  readonly address: string
  readonly family: IPFamily
  /** Where it was seen, for the message. */
  readonly source: string
  /** The name of its network in vSphere, empty where it is in none; undefined where nobody knows it. */
  readonly network: string | undefined
  /** Whether it looks so much like a virtual IP that not even a running Node keeps it. */
  readonly virtual: boolean
}

/**
 * The addresses that may become a Node's: those that the agent sees on the VM's own vNICs, then, where it
 * sees none or leaves some out, those that VMware Tools report for them. What CNI plugins made never matches a vNIC's MAC
 * (kubernetes/cloud-provider-vsphere#338).
 *
 * Statically configured ones come first, as with the CPI. A virtual IP (kube-vip, keepalived) sits on the right vNIC too,
 * but as a second address of its subnet or with a host prefix; such ones come last
 * (kubernetes/cloud-provider-vsphere#614). Tools do not tell them apart: there the order is theirs, as with the CPI.
 */
export function candidateAddresses(
  spec: NodeReportSpec,
  vm: VirtualMachine,
  macs: readonly string[],
): {
  /** Best first. */
  readonly candidates: readonly CandidateAddress[]
  /** The names of the networks that the VM is in, as far as the agent or VMware Tools see it there. */
  readonly networks: readonly (string | undefined)[]
} {
  const reported = fromReport(spec, vm, macs)
  const byTools = fromGuestNet(spec, vm)
  const together = leavesOut(spec) ? withUnseen(reported, byTools, spec) : reported
  const seenMACs = new Set([...macs, ...onVNICs(vm).map(({ mac }) => mac)])
  return {
    candidates: reported.length > 0 ? together : byTools,
    networks: [...seenMACs].map((mac) => networkOf(vm, mac)),
  }
}

/** Whether the agent leaves out addresses, because nothing tells on which interface they are. */
function leavesOut({ unreadable }: NodeReportSpec): boolean {
  return unreadable?.some(({ reason }) => reason === 'UnknownInterface') === true
}

/** With those that the agent does not see. One that it sees and passes over, as deprecated, is not added. */
function withUnseen(
  reported: readonly CandidateAddress[],
  byTools: readonly CandidateAddress[],
  { interfaces }: NodeReportSpec,
): readonly CandidateAddress[] {
  const seen = interfaces.flatMap(({ addresses }) =>
    addresses.map(({ address }) => parseAddress(address)?.address),
  )
  return [...reported, ...byTools.filter(({ address }) => !seen.includes(address))]
}

interface Ranked {
  readonly rank: number
  readonly candidate: CandidateAddress
}

/** More than there are static addresses. */
const MOST = 1000

function fromReport(spec: NodeReportSpec, vm: VirtualMachine, macs: readonly string[]): CandidateAddress[] {
  const rank = rankOf(spec, vm)
  const found: Ranked[] = []
  for (const nic of spec.interfaces) {
    if (!macs.includes(nic.mac)) continue
    const network = networkOf(vm, nic.mac)
    for (const entry of nic.addresses) {
      if (entry.temporary === true || entry.deprecated === true) continue
      const parsed = parseAddress(entry.address)
      if (parsed === undefined) continue
      const fixed = rank(parsed.address)
      // One that is configured as static is not virtual, whatever it looks like.
      const last = fixed === undefined && looksVirtual(entry, parsed.family)
      // An address of DHCPv6 has a host prefix too, and kube-vip marks its own of IPv6 as deprecated.
      const virtual = last && (entry.secondary === true || parsed.family === 'ipv4')
      found.push({
        rank:
          (fixed === undefined ? 2 * MOST : 0) + (nic.defaultRoute ? 0 : MOST) + (fixed ?? (last ? 1 : 0)),
        candidate: { ...parsed, source: nic.name, network, virtual },
      })
    }
  }
  return byRank(found)
}

/** `guest.net` of the vNICs, without interfaces that are no vNIC (`deviceConfigId` -1). */
export function fromGuestNet(spec: NodeReportSpec, vm: VirtualMachine): CandidateAddress[] {
  const rank = rankOf(spec, vm)
  const found = onVNICs(vm).flatMap(({ network = '', addresses }) =>
    addresses.flatMap(({ address }) => {
      const parsed = parseAddress(address)
      if (parsed === undefined) return []
      const candidate = { ...parsed, source: 'VMware Tools', network, virtual: false }
      return [{ rank: rank(parsed.address) ?? MOST, candidate }]
    }),
  )
  return byRank(found)
}

/** What VMware Tools say of the VM's own vNICs. */
export function onVNICs(vm: VirtualMachine) {
  const macs = new Set(vm.nics.map(({ mac }) => mac))
  return vm.guestNICs.flatMap(({ mac, deviceConfigID, ...nic }) =>
    deviceConfigID !== -1 && mac !== undefined && macs.has(mac) ? [{ mac, ...nic }] : [],
  )
}

/** As VMware Tools report it, else by the hardware. */
export function networkOf(vm: VirtualMachine, mac: string): string | undefined {
  const reported = vm.guestNICs.filter((nic) => nic.mac === mac)
  if (reported.length > 0) return reported.find(({ network }) => network)?.network ?? ''
  return vm.nics.find((nic) => nic.mac === mac)?.network
}

/** The place of an address among those that cloud-init's metadata sets, as the agent or else vCenter shows it. */
function rankOf(spec: NodeReportSpec, vm: VirtualMachine): (address: string) => number | undefined {
  const fixed = (spec.cloudInit?.addresses ?? vm.staticAddresses).map(
    (cidr) => parseAddress(cidr.split('/')[0] ?? '')?.address,
  )
  return (address) => {
    const place = fixed.indexOf(address)
    return place === -1 ? undefined : place
  }
}

/** Lower ranks first, equal ones as they are: Array.prototype.toSorted is stable. */
function byRank(found: readonly Ranked[]): CandidateAddress[] {
  return found.toSorted((a, b) => a.rank - b.rank).map(({ candidate }) => candidate)
}

function looksVirtual(entry: InterfaceAddress, family: IPFamily): boolean {
  return entry.secondary === true || entry.prefixLength === (family === 'ipv4' ? 32 : 128)
}

/** Canonical text and family; undefined for anything that is not an address that other machines could reach. */
export function parseAddress(text: string): { address: string; family: IPFamily } | undefined {
  // Neither octal nor decimal spellings, which programs read differently, nor zones, which mean nothing elsewhere.
  if (!isIPv4(text) && (!isIPv6(text) || text.includes('%'))) return undefined
  const parsed = ipaddr.process(text)
  if (UNREACHABLE.has(parsed.range())) return undefined
  return { address: parsed.toString(), family: parsed.kind() }
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  'unspecified',
  'loopback',
  'linkLocal',
  'multicast',
  'broadcast',
])

/** What the kubelet's `--node-ip` asks for. */
export interface NodeIPs {
  /** At most one per family, in the kubelet's order. */
  readonly addresses: readonly { readonly address: string; readonly family: IPFamily }[]
  /** `0.0.0.0` or `::` names no address, only the family that comes first. */
  readonly preferred: IPFamily | undefined
}

/**
 * Reads the annotation `alpha.kubernetes.io/provided-node-ip`: one address, or two of different families with a comma
 * (KEP-3705); an unspecified one states a preference only (`k8s.io/cloud-provider/node/helpers`).
 */
export function parseProvidedNodeIP(text: string | undefined): Result<NodeIPs> {
  if (text === undefined || text.trim() === '') return ok({ addresses: [], preferred: undefined })
  const addresses: { address: string; family: IPFamily }[] = []
  let preferred: IPFamily | undefined
  for (const part of text.split(',').map((item) => item.trim())) {
    if (ipaddr.isValid(part) && ipaddr.process(part).range() === 'unspecified') {
      preferred = ipaddr.process(part).kind()
      continue
    }
    const parsed = parseAddress(part)
    if (parsed === undefined || addresses.some(({ family }) => family === parsed.family)) {
      return failed(
        `the annotation alpha.kubernetes.io/provided-node-ip (${text.length} characters) is neither one address nor one of each family; correct the kubelet's --node-ip`,
      )
    }
    addresses.push(parsed)
  }
  return ok({ addresses, preferred })
}
