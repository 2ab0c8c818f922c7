import { closeSync, openSync, readSync } from 'node:fs'
import { type Fact, known, unreadable } from './fact.ts'

const CHUNK = 4096

/**
 * The text of a small file of the kernel's, whole. Read at once and without a thread: these files are memory, and a
 * thread pool is not.
 *
 * @param limit bytes; a longer file is refused after as much, whatever its size says
 */
export function readSmallFile(path: string, limit: number): Fact<string> {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    return explain(path, error)
  }
  try {
    let content = Buffer.alloc(Math.min(limit + 1, CHUNK))
    let length = 0
    while (length <= limit) {
      if (length === content.length)
        content = Buffer.concat([content, Buffer.alloc(length)], Math.min(limit + 1, 2 * length))
      const count = readSync(file, content, length, content.length - length, null)
      if (count === 0) return known(content.toString('utf8', 0, length))
      length += count
    }
    return unreadable('TooLong', `${path} is longer than ${limit} bytes`)
  } catch (error) {
    return explain(path, error)
  } finally {
    closeSync(file)
  }
}

/** A file's text as one line: at most `limit` bytes of printable ASCII, without the space around it. */
export function readLine(path: string, limit: number): Fact<string> {
  const text = readSmallFile(path, limit + 1)
  if (!text.ok) return text
  const line = text.value.trim()
  if (line === '') return unreadable('Empty', `${path} is empty`)
  if (!/^[\x20-\x7e]*$/.test(line))
    return unreadable('Malformed', `${path} is not one line of printable ASCII`)
  return known(line)
}

function explain(path: string, error: unknown): Fact<never> {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error'
  if (code === 'ENOENT' || code === 'ENOTDIR') return unreadable('NotFound', `${path} is not there`)
  if (code === 'EACCES' || code === 'EPERM') {
    return unreadable('PermissionDenied', `${path} may not be read: run the agent as root`)
  }
  return unreadable('Unreadable', `${path} cannot be read: ${code}`)
}
