import ipaddr from 'ipaddr.js'
import type { NodeReportSpec } from '../../../agent/shared/node-report.ts'
import type { Node } from '../../types/node.ts'

/**
 * The name by which the kubelet requested its serving certificate: its own, else the guest's, else the Node's. Another Node's
 * name is not taken over, because clients and certificate approvers rely on this list.
 *
 * @param holder another Node that holds this name (lower case)
 */
export function hostname(
  { hostname: guest }: NodeReportSpec,
  node: Node,
  holder: (name: string) => string | undefined,
): string {
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
