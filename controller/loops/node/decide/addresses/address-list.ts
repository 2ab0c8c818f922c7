import ipaddr from 'ipaddr.js'
import type { NodeAddress, NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import type { NodeIPs } from './provided-node-ip.ts'
import type { AddressHolders } from './usable-addresses.ts'

/** A Node's addresses as they are written: its Hostname, and `chosen` with the kubelet's own first. */
export function addressList(
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
  const types = [...new Set(addresses.map(({ type }) => type))]
  return types.flatMap((wanted) => addresses.filter(({ type }) => type === wanted))
}
