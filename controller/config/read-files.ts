import { hash } from 'node:crypto'
import { attempt, failed, ok, type Result } from '../../agent/shared/result.ts'

/**
 * Reads a whole file; fails as `node:fs` does, with a `code`. May refuse a file of more than `maxBytes` with `EFBIG` and
 * anything but a regular file with `EFTYPE`.
 */
export type ReadFile = (path: string, maxBytes: number) => Promise<Uint8Array>

/** Reads a text file that a person named. Error messages continue a sentence that begins with the file's name. */
export async function readTextFile(
  path: string,
  readFile: ReadFile,
  maxBytes: number,
): Promise<Result<string>> {
  let bytes: Uint8Array
  try {
    bytes = await readFile(path, maxBytes)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (typeof code !== 'string') throw error
    return failed(whyNotRead(code, maxBytes))
  }
  if (bytes.byteLength > maxBytes) return failed(whyNotRead('EFBIG', maxBytes))
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return failed('is not UTF-8 text: check that it is the right file, or convert it')
  }
}

/** Continues a sentence that begins with the path. */
export function whyNotRead(code: string, maxBytes: number): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'does not exist: check the path, and that it is mounted into the Pod'
    case 'EACCES':
    case 'EPERM':
      return 'cannot be read (permission denied): give this user permission to read it'
    case 'EISDIR':
      return 'is a folder: name the file in it'
    case 'EFTYPE':
      return 'is not a regular file: name one, not a pipe or a device'
    case 'EFBIG':
      return `has more than ${maxBytes} bytes: check that it is the right file`
    default:
      return `cannot be read (${code}): check the volume it is on`
  }
}

/**
 * Files by path, each with the limit that it was read with. Marks are equal for equal contents or errors, and do not reveal
 * them.
 */
export type RememberedFiles = ReadonlyMap<string, { readonly maxBytes: number; readonly mark: string }>

export type RememberingReader = ReturnType<typeof createRememberingReader>

/** Reads each file once and remembers its contents, so that reading it again gives the same. */
export function createRememberingReader(readFile: ReadFile): {
  readonly readFile: ReadFile
  /** Those read so far. */
  readonly files: RememberedFiles
} {
  const files = new Map<string, { maxBytes: number; mark: string }>()
  const outcomes = new Map<string, Result<Uint8Array, { readonly error: unknown }>>()

  return {
    async readFile(path, maxBytes) {
      const outcome = outcomes.get(path) ?? (await attempt(() => readFile(path, maxBytes)))
      outcomes.set(path, outcome)
      files.set(path, { maxBytes, mark: markOf(outcome) })
      if (!outcome.ok) throw outcome.error
      return outcome.value
    },
    files,
  }
}

/** Reads these files again, whether they can be read or not. */
export async function readAgain(files: RememberedFiles, readFile: ReadFile): Promise<RememberingReader> {
  const reader = createRememberingReader(readFile)
  for (const [path, { maxBytes }] of files) {
    // The error is remembered, and reported when the file is parsed.
    await reader.readFile(path, maxBytes).catch(() => undefined)
  }
  return reader
}

/** Whether two readings found the same files with the same contents. */
export function sameFiles(a: RememberedFiles, b: RememberedFiles): boolean {
  return a.size === b.size && [...a].every(([path, { mark }]) => b.get(path)?.mark === mark)
}

function markOf(outcome: Result<Uint8Array, { readonly error: unknown }>): string {
  if (outcome.ok) return hash('sha256', outcome.value, 'hex')
  const { error } = outcome
  return error instanceof Error && 'code' in error ? `not read: ${String(error.code)}` : 'not read'
}
