import ipaddr from 'ipaddr.js'
import type { InterfaceAddress, NodeReportSpec } from '../../../agent/contract.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { commonMACs } from '../identity/mac.ts'

export type Family = 'ipv4' | 'ipv6'

export interface CandidateAddress {
  /** Canonical text. */
  readonly address: string
  readonly family: Family
  /** Where it was seen, for the message. */
  readonly source: string
}

/**
 * The addresses that may become a Node's, best first: those that the agent sees on the VM's own vNICs, or, where it
 * sees none, those that VMware Tools report for them. What CNI plugins made never matches a vNIC's MAC
 * (kubernetes/cloud-provider-vsphere#338).
 *
 * A virtual IP (kube-vip, keepalived) sits on the right vNIC too, but as a second address of its subnet or with a host
 * prefix; such ones come last (kubernetes/cloud-provider-vsphere#614). Statically configured ones come first, as with
 * the CPI.
 */
export function candidateAddresses(spec: NodeReportSpec, vm: VirtualMachine): CandidateAddress[] {
  const reported = fromReport(spec, vm)
  return reported.length > 0 ? reported : fromGuestNet(vm)
}

function fromReport(spec: NodeReportSpec, vm: VirtualMachine): CandidateAddress[] {
  const macs = new Set(commonMACs(spec, vm))
  const fixed = new Set(
    spec.cloudInit?.addresses?.map((cidr) => parseAddress(cidr.split('/')[0] ?? '')?.address),
  )
  const ranked: { rank: number; candidate: CandidateAddress }[] = []
  for (const nic of spec.interfaces) {
    if (!macs.has(nic.mac)) continue
    for (const entry of nic.addresses) {
      if (entry.temporary === true || entry.deprecated === true) continue
      const parsed = parseAddress(entry.address)
      if (parsed === undefined) continue
      const rank =
        (fixed.has(parsed.address) ? 0 : 4) +
        (nic.defaultRoute ? 0 : 2) +
        (looksVirtual(entry, parsed.family) ? 1 : 0)
      ranked.push({ rank, candidate: { ...parsed, source: nic.name } })
    }
  }
  // Array.prototype.sort is stable, so the report's order is kept within a rank.
  return ranked.sort((a, b) => a.rank - b.rank).map(({ candidate }) => candidate)
}

/** `guest.net` of the vNICs, without interfaces that are no vNIC (`deviceConfigId` -1). */
export function fromGuestNet(vm: VirtualMachine): CandidateAddress[] {
  const macs = new Set(vm.nics.map(({ mac }) => mac))
  return vm.guestNICs
    .filter(({ mac, deviceConfigID }) => deviceConfigID !== -1 && mac !== undefined && macs.has(mac))
    .flatMap(({ addresses }) => addresses)
    .map(({ address }) => parseAddress(address))
    .filter((parsed) => parsed !== undefined)
    .map((parsed) => ({ ...parsed, source: 'VMware Tools' }))
}

function looksVirtual(entry: InterfaceAddress, family: Family): boolean {
  return entry.secondary === true || entry.prefixLength === (family === 'ipv4' ? 32 : 128)
}

/** Canonical text and family; undefined for anything that is not an address that other machines could reach. */
export function parseAddress(text: string): { address: string; family: Family } | undefined {
  // Neither octal nor decimal spellings, which programs read differently, nor zones, which mean nothing elsewhere.
  const usual = ipaddr.IPv4.isValidFourPartDecimal(text) || (ipaddr.IPv6.isValid(text) && !text.includes('%'))
  if (!usual) return undefined
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
