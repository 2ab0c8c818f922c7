import { join } from 'node:path'
import { ok, type Result } from '../shared/result.ts'
import { readLine, scanLines, type Unreadable, unreadable } from './files.ts'

/** The boot ID, a lower-case UUID that the kernel draws at each boot. */
export function readBootID(root: string): Result<string, Unreadable> {
  const path = join(root, 'proc/sys/kernel/random/boot_id')
  const line = readLine(path, 64)
  if (!line.ok) return line
  const id = line.value.toLowerCase()
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)
    ? ok(id)
    : unreadable('Malformed', `${path} does not have a UUID`)
}

/** The kernel's host name, as it is. */
export function readHostname(root: string): Result<string, Unreadable> {
  const path = join(root, 'proc/sys/kernel/hostname')
  const line = readLine(path, 253)
  // The kernel's own text for a name that nobody has set.
  return line.ok && line.value === '(none)' ? unreadable('Empty', `${path} is not set`) : line
}

/** The kernel's flags of a route (`linux/route.h`): in use; rejects packets. */
const RTF_UP = 0x1
const RTF_REJECT = 0x200
/** A quarter of a million routes, more than any node has; they take a third of a second. */
const MAX_TABLE = 1 << 25

/**
 * Reads the kernel's tables, which may be long with BGP.
 *
 * @returns the names of the interfaces by which a default route leaves, and whether the tables could be read; a missing
 * table, as without IPv6, counts as empty
 */
export function readDefaultRoutes(root: string): {
  readonly interfaces: ReadonlySet<string>
  readonly read: Result<undefined, Unreadable>
} {
  const interfaces = new Set<string>()
  const ipv4 = scanLines(join(root, 'proc/net/route'), MAX_TABLE, (line) => {
    if (!/\s00000000\s/.test(line)) return
    const [name = '', destination, , flags, , , , mask] = fields(line)
    if (destination === '00000000' && mask === '00000000' && usable(flags)) interfaces.add(name)
  })
  const ipv6 = scanLines(join(root, 'proc/net/ipv6_route'), MAX_TABLE, (line) => {
    if (!line.startsWith('00000000000000000000000000000000 00 ')) return
    const [flags, name = ''] = fields(line).slice(8)
    if (usable(flags)) interfaces.add(name)
  })
  return {
    interfaces,
    read: [ipv4, ipv6].find((table) => !table.ok && table.reason !== 'NotFound') ?? ok(undefined),
  }
}

/** Flag of a route that leads over a gateway. */
const RTF_GATEWAY = 0x2

/**
 * The interface by which the kernel reaches this IPv4 network directly, as the kernel adds such a route with each address.
 * Undefined where none does, or where two do.
 */
export function interfaceOfNetwork(root: string, network: number, prefixLength: number): string | undefined {
  const names = new Set<string>()
  const destination = kernelHex(network)
  const mask = kernelHex(2 ** 32 - 2 ** (32 - prefixLength))
  scanLines(join(root, 'proc/net/route'), MAX_TABLE, (line) => {
    if (!line.includes(destination)) return
    const [name = '', to, , flags, , , , of] = fields(line)
    const isDirect = usable(flags) && (Number.parseInt(flags ?? '', 16) & RTF_GATEWAY) === 0
    if (to === destination && of === mask && isDirect) names.add(name)
  })
  const [name, second] = names
  return second === undefined ? name : undefined
}

/** As the table shows a number in network byte order on the little-endian machines that vSphere has. */
function kernelHex(value: number): string {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes.toString('hex').toUpperCase()
}

function fields(line: string): string[] {
  return line.trim().split(/\s+/)
}

function usable(flags: string | undefined): boolean {
  const bits = Number.parseInt(flags ?? '', 16)
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0
}
