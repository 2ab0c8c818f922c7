import { join } from 'node:path'
import { readSmallFile } from './files.ts'

/** The kernel's flags of a route (`linux/route.h`): in use; answers with "unreachable". */
const RTF_UP = 0x1
const RTF_REJECT = 0x200
const MAX_TABLE = 1 << 20

/** Names of the interfaces by which a default route leaves. A table that is not there has none, as without IPv6. */
export function readDefaultRoutes(root: string): ReadonlySet<string> {
  const names = new Set<string>()
  for (const [name = '', destination, , flags, , , , mask] of rows(join(root, 'proc/net/route'))) {
    if (destination === '00000000' && mask === '00000000' && usable(flags)) names.add(name)
  }
  for (const [destination, length, , , , , , , flags, name = ''] of rows(join(root, 'proc/net/ipv6_route'))) {
    if (/^0{32}$/.test(destination ?? '') && length === '00' && usable(flags)) names.add(name)
  }
  return names
}

function usable(flags: string | undefined): boolean {
  const bits = Number.parseInt(flags ?? '', 16)
  return (bits & RTF_UP) !== 0 && (bits & RTF_REJECT) === 0
}

function rows(path: string): string[][] {
  const table = readSmallFile(path, MAX_TABLE)
  return table.ok ? table.value.split('\n').map((line) => line.trim().split(/\s+/)) : []
}
