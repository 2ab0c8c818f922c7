import { join, resolve } from 'node:path'
import { ok, type Result } from '../shared/result.ts'
import { readSmallFile } from './files.ts'
import type { AddressTable } from './interfaces.ts'
import { type Unreadable, unreadable } from './unreadable.ts'

/** The file with the addresses under a root other than `/`, in the form of Node's `os.networkInterfaces()`. */
export const ADDRESS_FILE = 'run/rollcall/network-interfaces.json'

/**
 * The addresses by interface. The kernel has no file for them, so with the root `/` they come from the system, with any
 * other root from {@link ADDRESS_FILE}.
 *
 * @param system `os.networkInterfaces`
 */
export function readAddressTable(root: string, system: () => AddressTable): Result<AddressTable, Unreadable> {
  if (resolve(root) === '/') {
    try {
      return ok(system())
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error)
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
