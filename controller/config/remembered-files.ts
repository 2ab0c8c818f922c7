import { createHash } from 'node:crypto'
import { attempt, type Result } from '../../agent/shared/result.ts'
import type { ReadFile } from './read-text.ts'

/** What a file held when it was read. */
interface Remembered {
  /** The limit it was read with. */
  readonly maxBytes: number
  /** Equal for equal contents, or the error where it could not be read. Does not reveal the contents. */
  readonly mark: string
}

/** Files by path, as they were when read. */
export type RememberedFiles = ReadonlyMap<string, Remembered>

/** Reads each file once and remembers its contents, so that reading it again gives the same. */
export interface RememberingReader {
  readonly readFile: ReadFile
  /** The files read so far. */
  files(): RememberedFiles
}

type Outcome = Result<Uint8Array, { readonly error: unknown }>

export function createRememberingReader(readFile: ReadFile): RememberingReader {
  const files = new Map<string, Remembered>()
  const outcomes = new Map<string, Outcome>()

  return {
    async readFile(path, maxBytes) {
      const outcome = outcomes.get(path) ?? (await attempt(() => readFile(path, maxBytes)))
      outcomes.set(path, outcome)
      files.set(path, { maxBytes, mark: markOf(outcome) })
      if (!outcome.ok) throw outcome.error
      return outcome.value
    },
    files: () => files,
  }
}

/** Reads these files again, whether they can be read or not. */
export async function readAgain(files: RememberedFiles, readFile: ReadFile): Promise<RememberingReader> {
  const reader = createRememberingReader(readFile)
  for (const [path, { maxBytes }] of files) {
    // The error is remembered, and told when the file is parsed.
    await reader.readFile(path, maxBytes).catch(() => undefined)
  }
  return reader
}

/** Whether two readings found the same files with the same contents. */
export function sameFiles(a: RememberedFiles, b: RememberedFiles): boolean {
  return a.size === b.size && [...a].every(([path, { mark }]) => b.get(path)?.mark === mark)
}

function markOf(outcome: Outcome): string {
  if (outcome.ok) return createHash('sha256').update(outcome.value).digest('hex')
  const { error } = outcome
  return error instanceof Error && 'code' in error ? `not read: ${String(error.code)}` : 'not read'
}
