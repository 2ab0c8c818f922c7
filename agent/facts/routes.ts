import { join } from 'node:path'
import { ok, type Result } from '../shared/result.ts'
import { scanLines } from './files.ts'
import type { Unreadable } from './unreadable.ts'

/** The kernel's flags of a route (`linux/route.h`): in use; rejects packets. */
const RTF_UP = 0x1
const RTF_REJECT = 0x200
/** A quarter of a million routes, more than any node has; they take a third of a second. */
const MAX_TABLE = 1 << 25

export interface DefaultRoutes {
  /** Names of the interfaces by which a default route leaves. */
  readonly interfaces: ReadonlySet<string>
  /** Whether the tables could be read. A missing table, as without IPv6, counts as empty. */
  readonly read: Result<undefined, Unreadable>
}

/** Reads the kernel's tables, which may be long with BGP. */
export function readDefaultRoutes(root: string): DefaultRoutes {
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

function fields(line: string): string[] {
  return line.trim().split(/\s+/)
}

function usable(flags: string | undefined): boolean {
  const bits = Number.parseInt(flags ?? '', 16)
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0
}
