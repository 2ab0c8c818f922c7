import { readSync } from 'node:fs'
import { withRegularFile } from '../shared/regular-file.ts'
import { codeOf, ok, type Result } from '../shared/result.ts'

const CHUNK = 4096
const TABLE_CHUNK = 1 << 16
const MAX_LINE = 4096

/**
 * The whole text of a small file. Read synchronously: the kernel's files are in memory, and a thread pool would cost memory.
 * Only regular files are read, since a FIFO or a device could block the agent forever.
 *
 * @param limit bytes; a longer file is refused after this much, whatever its size says
 */
export function readSmallFile(path: string, limit: number): Result<string, Unreadable> {
  return withFile(path, (file) => {
    let content = Buffer.alloc(Math.min(limit + 1, CHUNK))
    let length = 0
    while (length <= limit) {
      if (length === content.length)
        content = Buffer.concat([content, Buffer.alloc(length)], Math.min(limit + 1, 2 * length))
      const count = readSync(file, content, length, content.length - length, null)
      if (count === 0) return ok(content.toString('utf8', 0, length))
      length += count
    }
    return tooLong(path, limit)
  })
}

/**
 * Passes on the lines of a file one by one, for tables that may be long. Lines passed on before a failure stay valid.
 *
 * @param limit bytes, as with {@link readSmallFile}
 */
export function scanLines(
  path: string,
  limit: number,
  take: (line: string) => void,
): Result<undefined, Unreadable> {
  return withFile(path, (file) => {
    const chunk = Buffer.alloc(TABLE_CHUNK)
    let length = 0
    let rest = ''
    while (length <= limit) {
      const count = readSync(file, chunk, 0, chunk.length, null)
      if (count === 0) {
        take(rest)
        return ok(undefined)
      }
      length += count
      const lines = (rest + chunk.toString('latin1', 0, count)).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE)
        return unreadable('Malformed', `${path} has a line of more than ${MAX_LINE} bytes`)
      lines.forEach(take)
    }
    return tooLong(path, limit)
  })
}

/** A file's text as one line: at most `limit` bytes of printable ASCII, trimmed. */
export function readLine(path: string, limit: number): Result<string, Unreadable> {
  const text = readSmallFile(path, limit + 1)
  if (!text.ok) return text
  const line = text.value.trim()
  if (line === '') return unreadable('Empty', `${path} is empty`)
  if (!/^[\x20-\x7e]*$/.test(line))
    return unreadable('Malformed', `${path} is not one line of printable ASCII`)
  return ok(line)
}

function withFile<T>(path: string, use: (file: number) => Result<T, Unreadable>): Result<T, Unreadable> {
  try {
    return withRegularFile(path, use)
  } catch (error) {
    return explain(path, error)
  }
}

function tooLong(path: string, limit: number): Result<never, Unreadable> {
  return unreadable('TooLong', `${path} is longer than ${limit} bytes`)
}

function explain(path: string, error: unknown): Result<never, Unreadable> {
  const code = codeOf(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return unreadable('NotFound', `${path} is not there`)
  if (code === 'EACCES' || code === 'EPERM') {
    return unreadable('PermissionDenied', `permission denied reading ${path}: run the agent as root`)
  }
  const irregular = code === 'EISDIR' || code === 'EFTYPE'
  return unreadable('Unreadable', `${path} cannot be read: ${irregular ? 'not a regular file' : code}`)
}

/** Why a fact cannot be read, or a claim is not written as it should be. `docs/reasons.md` explains each: add new ones there. */
export const AGENT_REASONS = [
  'Disabled',
  'Empty',
  'Failed',
  'Malformed',
  'NotFound',
  'NotKept',
  'NotSet',
  'NotVMware',
  'PermissionDenied',
  'PrivilegedChannelFailed',
  'PrivilegedChannelRefused',
  'TimedOut',
  'TooLong',
  'TooMany',
  'ToolMissing',
  'UnknownEncoding',
  'UnknownInterface',
  'Unreadable',
  'WithoutNonce',
] as const

/** The last two are answers of a host that something else follows from; no report has them. */
export type AgentReason = (typeof AGENT_REASONS)[number] | 'NoValue' | 'Denied'

/** Why a fact could not be read. */
export interface Unreadable {
  readonly reason: AgentReason
  /** One sentence that says what to do about it, and quotes nothing that was read but an address and its label. */
  readonly message: string
}

export function unreadable(reason: AgentReason, message: string): Result<never, Unreadable> {
  return { ok: false, reason, message }
}
