import { createHash } from 'node:crypto'
import type { ReadFile } from './read-text.ts'

/** What a file held when it was read. */
interface Remembered {
  /** Of which no more were to be read. */
  readonly maxBytes: number
  /** Equal for equal contents; where it could not be read, why. Tells nothing of what the file holds. */
  readonly mark: string
}

/** Files by path, as they were when they were read. */
export type RememberedFiles = ReadonlyMap<string, Remembered>

/** Reads each file once, and remembers what it held: whoever asks again is told the same. */
export interface RememberingReader {
  readonly readFile: ReadFile
  /** Those that were asked for so far. */
  files(): RememberedFiles
}

type Outcome =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly error: unknown }

export function createRememberingReader(readFile: ReadFile): RememberingReader {
  const files = new Map<string, Remembered>()
  const outcomes = new Map<string, Outcome>()

  async function read(path: string, maxBytes: number): Promise<Outcome> {
    try {
      return { ok: true, bytes: await readFile(path, maxBytes) }
    } catch (error) {
      return { ok: false, error }
    }
  }

  return {
    async readFile(path, maxBytes) {
      const outcome = outcomes.get(path) ?? (await read(path, maxBytes))
      outcomes.set(path, outcome)
      files.set(path, { maxBytes, mark: markOf(outcome) })
      if (!outcome.ok) throw outcome.error
      return outcome.bytes
    },
    files: () => files,
  }
}

/** Reads these files once more, whether they can be read or not. */
export async function readAgain(files: RememberedFiles, readFile: ReadFile): Promise<RememberingReader> {
  const reader = createRememberingReader(readFile)
  for (const [path, { maxBytes }] of files) {
    // Why it could not be read is remembered, and said by whoever makes sense of the file.
    await reader.readFile(path, maxBytes).catch(() => undefined)
  }
  return reader
}

/** Whether two readings found the same files and the same in them. */
export function sameFiles(a: RememberedFiles, b: RememberedFiles): boolean {
  return a.size === b.size && [...a].every(([path, { mark }]) => b.get(path)?.mark === mark)
}

function markOf(outcome: Outcome): string {
  if (outcome.ok) return createHash('sha256').update(outcome.bytes).digest('hex')
  const { error } = outcome
  return error instanceof Error && 'code' in error ? `not read: ${String(error.code)}` : 'not read'
}
