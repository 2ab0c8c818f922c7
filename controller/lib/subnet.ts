import ipaddr from 'ipaddr.js'

/** The bits before the IPv4 address in a mapped one. */
const MAPPED_PREFIX = 96

/**
 * Whether a subnet, as the settings have it, contains an address. A subnet of mapped IPv4 addresses
 * (`::ffff:10.0.0.0/104`) contains the IPv4 addresses that it means, as with Go's `net.IPNet.Contains`.
 */
export function contains(subnet: string, address: string): boolean {
  const [network, length] = ipaddr.parseCIDR(subnet)
  const one = ipaddr.parse(address)
  if (network instanceof ipaddr.IPv4) return one instanceof ipaddr.IPv4 && one.match(network, length)
  if (one instanceof ipaddr.IPv6) return one.match(network, length)
  return (
    network.isIPv4MappedAddress() &&
    length >= MAPPED_PREFIX &&
    one.match(network.toIPv4Address(), length - MAPPED_PREFIX)
  )
}
