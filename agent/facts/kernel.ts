import { join } from 'node:path'
import { ok, type Result } from '../shared/result.ts'
import { readLine } from './files.ts'
import { type Unreadable, unreadable } from './unreadable.ts'

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
