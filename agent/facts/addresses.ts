/** The machine's addresses, and on which interface each is. */
import { isIPv4, isIPv6 } from 'node:net'
import { join, resolve } from 'node:path'
import { messageOf, ok, type Result } from '../shared/result.ts'
import { readSmallFile, type Unreadable, unreadable } from './files.ts'
import { interfaceOfNetwork } from './kernel.ts'

/** As `os.networkInterfaces()` returns it; only these two fields are used. */
export interface RawAddress {
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

/** Most addresses that a report names as left out: each takes room for others. */
const MAX_UNPLACED = 4

/** An address of which nothing tells on which interface it is. */
export interface UnplacedAddress {
  readonly address: string
  readonly why: Result<never, Unreadable>
}

/**
 * The addresses by interface. The system lists an IPv4 address under its label, where it has one (`ip-address(8)`), and tells
 * nothing else of the interface. Which one it is, in this order:
 *
 * - ifupdown and netplan write the interface's name, a colon and more, which no interface's own name may have;
 * - for long, `ip` took only labels that begin with the interface's name, and people keep to that. Not with `lo`, with which
 *   words begin;
 * - any other label is free text, as `ip` takes it now, and systemd-networkd and keepalived: then it is the interface of the
 *   route that the kernel adds with the address. There is none for a /32, nor outside of the main table, as in a VRF, and two
 *   where two interfaces are in the network.
 *
 * No file of the kernel has more: `fib_trie` does not name interfaces. Of those that are left over, the first are `unplaced`.
 */
export function addressesByInterface(root: string, addresses: AddressTable, names: ReadonlySet<string>) {
  const byInterface = new Map<string, RawAddress[]>()
  const strays: { readonly label: string; readonly address: string }[] = []
  const longestFirst = [...names].filter((name) => name !== 'lo').toSorted((a, b) => b.length - a.length)
  for (const [label, list] of Object.entries(addresses)) {
    const [before = ''] = label.split(':')
    const named = [label, before].find((each) => names.has(each))
    const begun = longestFirst.find(
      (each) => label.startsWith(each) && !/^[.\d]/.test(label.slice(each.length)),
    )
    for (const raw of list ?? []) {
      // An IPv6 address has no label. Without an interface of that name, as of eth10 beside eth1, that has gone just now.
      const owner = named ?? (isIPv4(raw.address) ? (begun ?? ownerByRoute(root, raw)) : undefined)
      if (owner === undefined) {
        if (isIPv4(raw.address) && isReachable(raw.address)) strays.push({ label, address: raw.address })
        continue
      }
      const known = byInterface.get(owner)
      // There may be thousands: kube-proxy's IPVS mode gives one interface the address of each Service.
      if (known === undefined) byInterface.set(owner, [raw])
      else known.push(raw)
    }
  }
  const more = strays.length - MAX_UNPLACED
  const unplaced = strays.slice(0, MAX_UNPLACED).map(({ label, address }, index): UnplacedAddress => {
    // The others are short: a report has room for little.
    const why =
      index > 0
        ? `${address} is left out too: label ${label}`
        : `${address} is left out${more > 0 ? `, and ${more} more` : ''}: the label ${label} does not tell on which interface it is; ` +
          "begin the label with the interface's name and a colon, as in eth0:0"
    return { address, why: unreadable('UnknownInterface', why) }
  })
  return { byInterface, unplaced }
}

function ownerByRoute(root: string, { address, cidr }: RawAddress): string | undefined {
  const prefixLength = isIPv4(address) ? prefixOf(cidr, 32) : undefined
  return prefixLength === undefined
    ? undefined
    : interfaceOfNetwork(root, ipv4Network(address, prefixLength), prefixLength)
}

/** The first address of its network, as a number. */
export function ipv4Network(address: string, prefixLength: number): number {
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  return value - (value % 2 ** (32 - prefixLength))
}

export function prefixOf(cidr: string | null, max: number): number | undefined {
  const digits = /\/(\d{1,3})$/.exec(cidr ?? '')?.[1]
  return digits === undefined || Number(digits) > max ? undefined : Number(digits)
}

/** Whether other machines may reach it: not loopback, link-local, unspecified or multicast. */
export function isReachable(address: string): boolean {
  if (isIPv4(address)) return !/^(127\.|169\.254\.|0\.|22[4-9]\.|23\d\.)/.test(address)
  return isIPv6(address) && !address.includes('%') && !/^(::1?$|fe[89ab]|ff)/i.test(address)
}
