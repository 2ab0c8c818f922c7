import { existsSync, readdirSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'
import { join, resolve } from 'node:path'
import type { InterfaceAddress, NetworkInterface } from '../shared/node-report.ts'
import { messageOf, ok, type Result } from '../shared/result.ts'
import { readLine, readSmallFile, type Unreadable, unreadable } from './files.ts'
import { interfaceOfNetwork } from './kernel.ts'

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
): Result<NetworkInterface[], Unreadable> {
  const folder = join(root, 'sys/class/net')
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error'
    return unreadable('Unreadable', `${folder} cannot be listed: ${code}`)
  }
  const nics = names.flatMap((name) => readNic(folder, name))
  const macs = new Set(nics.filter((nic) => nic.physical).map((nic) => nic.mac))
  const flags = readIPv6Flags(root)
  const byInterface = addressesByInterface(root, addresses, new Set(names))
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
  return ok(interfaces.sort(byImportance))
}

/**
 * The addresses by interface. The system lists an IPv4 address under its label, where it has one (`ip-address(8)`): ifupdown
 * and netplan write the interface's name, a colon and more, which no interface's own name may have. For any other label,
 * the interface is that of the route that the kernel adds with the address: none for a /32, which gets no route, or where two
 * interfaces are in the network.
 */
function addressesByInterface(
  root: string,
  addresses: AddressTable,
  names: ReadonlySet<string>,
): ReadonlyMap<string, readonly RawAddress[]> {
  const found = new Map<string, RawAddress[]>()
  for (const [label, list] of Object.entries(addresses)) {
    const [before = ''] = label.split(':')
    const name = [label, before].find((each) => names.has(each))
    for (const raw of list ?? []) {
      const owner = name ?? ownerByRoute(root, raw)
      if (owner === undefined) continue
      const known = found.get(owner)
      // There may be thousands: kube-proxy's IPVS mode gives one interface the address of each Service.
      if (known === undefined) found.set(owner, [raw])
      else known.push(raw)
    }
  }
  return found
}

function ownerByRoute(root: string, { address, cidr }: RawAddress): string | undefined {
  const prefixLength = isIPv4(address) ? prefixOf(cidr, 32) : undefined
  return prefixLength === undefined
    ? undefined
    : interfaceOfNetwork(root, ipv4Network(address, prefixLength), prefixLength)
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

/** As `os.networkInterfaces()` returns it; only these two fields are used. */
interface RawAddress {
  readonly address: string
  /** Null where the netmask has no prefix length. */
  readonly cidr: string | null
}

/** Addresses by the name of an interface, or by their label where they have one; in the kernel's order. */
export type AddressTable = Readonly<Record<string, readonly RawAddress[] | undefined>>

/** The file with the addresses under a root other than `/`, in the form of Node's `os.networkInterfaces()`. */
const ADDRESS_FILE = 'run/rollcall/network-interfaces.json'

/**
 * The machine's addresses. The kernel has no file for them, so with the root `/` they come from the system, with any
 * other root from {@link ADDRESS_FILE}.
 *
 * @param system `os.networkInterfaces`
 */
export function readAddressTable(root: string, system: () => AddressTable): Result<AddressTable, Unreadable> {
  if (resolve(root) === '/') {
    try {
      return ok(system())
    } catch (error) {
      const cause = messageOf(error)
      return unreadable('Unreadable', `the system's addresses cannot be read: ${cause.slice(0, 120)}`)
    }
  }
  const path = join(root, ADDRESS_FILE)
  const text = readSmallFile(path, 1 << 18)
  if (!text.ok) return text
  let json: unknown
  try {
    json = JSON.parse(text.value)
  } catch {
    // JSON.parse throws only SyntaxError, whose message quotes the text.
    return unreadable('Malformed', `${path} is not JSON`)
  }
  if (json === null || typeof json !== 'object' || Array.isArray(json)) {
    return unreadable('Malformed', `${path} is not an object of interfaces`)
  }
  return ok(Object.fromEntries(Object.entries(json).map(([name, list]) => [name, parseList(list)])))
}

function parseList(list: unknown): { address: string; cidr: string | null }[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((item: unknown) => {
    if (item === null || typeof item !== 'object' || !('address' in item) || !('cidr' in item)) return []
    return typeof item.address === 'string' && typeof item.cidr === 'string'
      ? [{ address: item.address, cidr: item.cidr }]
      : []
  })
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

/** The first address of its network, as a number. */
function ipv4Network(address: string, prefixLength: number): number {
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return value - (value % 2 ** (32 - prefixLength))
}

function prefixOf(cidr: string | null, max: number): number | undefined {
  const digits = /\/(\d{1,3})$/.exec(cidr ?? '')?.[1]
  return digits === undefined || Number(digits) > max ? undefined : Number(digits)
}

function isReachable(address: string): boolean {
  if (isIPv4(address)) return !/^(127\.|169\.254\.|0\.|22[4-9]\.|23\d\.)/.test(address)
  return isIPv6(address) && !address.includes('%') && !/^(::1?$|fe[89ab]|ff)/i.test(address)
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
