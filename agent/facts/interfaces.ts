import { existsSync, readdirSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import { join } from 'node:path'
import type { InterfaceAddress, NetworkInterface } from '../shared/node-report.ts'
import { codeOf, ok, type Result } from '../shared/result.ts'
import {
  type AddressTable,
  addressesByInterface,
  ipv4Network,
  isReachable,
  prefixOf,
  type RawAddress,
  type UnplacedAddress,
} from './addresses.ts'
import { readLine, readSmallFile, type Unreadable, unreadable } from './files.ts'

/**
 * The machine's NICs (interfaces with a device) and interfaces on top of them with the same MAC address: bonds, VLANs,
 * bridges. Container interfaces have MAC addresses of their own and are left out. Interfaces with a default route come
 * first, then those with addresses.
 *
 * @param defaultRoutes names of the interfaces by which a default route leaves
 */
export function readInterfaces(
  root: string,
  addresses: AddressTable,
  defaultRoutes: ReadonlySet<string>,
): {
  readonly interfaces: Result<NetworkInterface[], Unreadable>
  /** IPv4 addresses that are left out, because nothing tells on which interface they are. */
  readonly unplaced: readonly UnplacedAddress[]
} {
  const folder = join(root, 'sys/class/net')
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    const interfaces = unreadable('Unreadable', `${folder} cannot be listed: ${codeOf(error)}`)
    return { interfaces, unplaced: [] }
  }
  const nics = names.flatMap((name) => readNic(folder, name))
  const macs = new Set(nics.filter((nic) => nic.physical).map((nic) => nic.mac))
  const flags = readIPv6Flags(root)
  const { byInterface, unplaced } = addressesByInterface(root, addresses, new Set(names))
  const interfaces = nics
    .filter((nic) => macs.has(nic.mac))
    .map((nic) => ({
      nic,
      report: {
        name: nic.name,
        mac: nic.mac,
        defaultRoute: defaultRoutes.has(nic.name),
        addresses: selectAddresses(nic.name, byInterface.get(nic.name) ?? [], flags),
      },
    }))
    .filter(({ nic, report }) => nic.physical || report.addresses.length > 0)
    .map(({ report }) => report)
  return { interfaces: ok(interfaces.sort(byImportance)), unplaced }
}

function readNic(folder: string, name: string) {
  // The kernel's limit on names, IFNAMSIZ; anything else in that folder is not an interface.
  if (!/^[\x21-\x7e]{1,15}$/.test(name)) return []
  const path = join(folder, name)
  const physical = existsSync(join(path, 'device'))
  // All members of a bond show the bond's address; the NIC's own, which vCenter knows, is in another file.
  const own = physical ? readLine(join(path, 'bonding_slave/perm_hwaddr'), 64) : undefined
  const mac = own?.ok ? own : readLine(join(path, 'address'), 64)
  if (!mac.ok || !/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(mac.value) || /^[0:]+$/.test(mac.value)) return []
  return [{ name, mac: mac.value.toLowerCase(), physical }]
}

function byImportance(a: NetworkInterface, b: NetworkInterface): number {
  return (
    Number(b.defaultRoute) - Number(a.defaultRoute) ||
    Number(b.addresses.length > 0) - Number(a.addresses.length > 0) ||
    a.name.length - b.name.length ||
    (a.name < b.name ? -1 : 1)
  )
}

/**
 * The addresses of one interface that other machines may reach, in the kernel's order, but first those that the kernel would
 * choose by itself. Left out: loopback, link-local, unspecified and multicast addresses, and IPv6 addresses that
 * have not passed duplicate address detection.
 */
function selectAddresses(
  name: string,
  raw: readonly RawAddress[],
  flags: ReadonlyMap<string, IPv6Flags>,
): InterfaceAddress[] {
  const subnets = new Set<string>()
  const first: InterfaceAddress[] = []
  const last: InterfaceAddress[] = []
  for (const { address, cidr } of raw) {
    const prefixLength = prefixOf(cidr, isIPv4(address) ? 32 : 128)
    if (prefixLength === undefined || !isReachable(address)) continue
    if (isIPv4(address)) {
      const subnet = ipv4Subnet(address, prefixLength)
      if (subnets.has(subnet)) last.push({ address, prefixLength, secondary: true })
      else first.push({ address, prefixLength })
      subnets.add(subnet)
      continue
    }
    const flag = flags.get(ipv6Key(name, address))
    if (flag?.tentative) continue
    const marks = {
      ...(flag?.temporary ? { temporary: true } : {}),
      ...(flag?.deprecated ? { deprecated: true } : {}),
    }
    ;(flag?.temporary || flag?.deprecated ? last : first).push({ address, prefixLength, ...marks })
  }
  return [...first, ...last]
}

/** The kernel calls an IPv4 address secondary when one of the same mask and subnet came before (`inet_insert_ifa`). */
function ipv4Subnet(address: string, prefixLength: number): string {
  return `${ipv4Network(address, prefixLength)}/${prefixLength}`
}

interface IPv6Flags {
  readonly temporary: boolean
  readonly deprecated: boolean
  /** Not yet, or never, usable: duplicate address detection runs or has failed. */
  readonly tentative: boolean
}

/** `linux/if_addr.h`; for IPv6 the bit of "secondary" means "temporary". */
const IFA_F_TEMPORARY = 0x01
const IFA_F_DADFAILED = 0x08
const IFA_F_DEPRECATED = 0x20
const IFA_F_TENTATIVE = 0x40

/** Flags by interface and address, from `proc/net/if_inet6`; the key is made by {@link ipv6Key}. */
function readIPv6Flags(root: string): ReadonlyMap<string, IPv6Flags> {
  const flags = new Map<string, IPv6Flags>()
  const table = readSmallFile(join(root, 'proc/net/if_inet6'), 1 << 18)
  for (const line of table.ok ? table.value.split('\n') : []) {
    const [address = '', , , , hex = '', name = ''] = line.trim().split(/\s+/)
    const bits = Number.parseInt(hex, 16)
    if (!/^[0-9a-f]{32}$/i.test(address) || Number.isNaN(bits)) continue
    flags.set(`${name} ${address.toLowerCase()}`, {
      temporary: (bits & IFA_F_TEMPORARY) !== 0,
      deprecated: (bits & IFA_F_DEPRECATED) !== 0,
      tentative: (bits & (IFA_F_TENTATIVE | IFA_F_DADFAILED)) !== 0,
    })
  }
  return flags
}

/** The key of an address: the interface and all 32 digits. The address must be a valid one without a zone. */
function ipv6Key(name: string, address: string): string {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address)
  const plain = dotted
    ? `${dotted[1]}${hex16(dotted[2], dotted[3])}:${hex16(dotted[4], dotted[5])}`
    : address.toLowerCase()
  const [head = '', tail] = plain.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  return `${name} ${[...left, ...zeros, ...right].map((group) => group.padStart(4, '0')).join('')}`
}

function hex16(high: string | undefined, low: string | undefined): string {
  return (Number(high) * 256 + Number(low)).toString(16)
}
