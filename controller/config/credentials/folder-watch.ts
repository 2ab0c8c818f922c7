import { join } from 'node:path'
import type { Clock } from '../../../agent/shared/clock.ts'
import { attempt } from '../../../agent/shared/result.ts'
import type { Task } from '../../lib/tasks.ts'
import { type ReadFile, type ReadFolder, whyNotRead } from '../read-text.ts'
import { createRememberingReader, type RememberedFiles, sameFiles } from '../remembered-files.ts'
import type { Secret } from '../secret.ts'
import { isOfInterest, MAX_VALUE, readValue, type SourceState } from './secret-data.ts'

export interface FolderWatchOptions {
  readonly path: string
  readonly readFile: ReadFile
  readonly readFolder: ReadFolder
  readonly clock: Clock
  readonly onState: (state: SourceState) => void
}

/** Milliseconds between two looks, as at the configuration. */
const INTERVAL = 2_000
/** A mounted Secret has a few. */
const MAX_FILES = 1_000

interface Look {
  readonly state: SourceState
  readonly names: readonly string[]
  readonly files: RememberedFiles
}

/**
 * Follows the files of a folder until the signal aborts. The first look counts at once; after that a change counts when
 * two looks in a row have found the same, for the reasons that the watch of the configuration has.
 */
export function watchFolder({ path, readFile, readFolder, clock, onState }: FolderWatchOptions): Task {
  async function look(): Promise<Look> {
    const reader = createRememberingReader(readFile)
    const listed = await attempt(() => readFolder(path))
    if (!listed.ok) return { state: unreadable(listed.error), names: [], files: reader.files() }
    // The kubelet keeps the versions of a mounted Secret under names with two dots.
    const names = listed.value.filter((name) => !name.startsWith('..')).sort()
    if (names.length > MAX_FILES) {
      const message = `has more than ${MAX_FILES} files: check that it is the right folder`
      return { state: { state: 'failed', message }, names: [], files: reader.files() }
    }
    const data = new Map<string, Secret | undefined>()
    for (const name of names) {
      const file = isOfInterest(name)
        ? await attempt(() => reader.readFile(join(path, name), MAX_VALUE))
        : undefined
      data.set(name, file?.ok ? readValue(file.value) : undefined)
    }
    return { state: { state: 'read', data }, names, files: reader.files() }
  }

  return async (signal) => {
    let judged = await look()
    let seen: Look | undefined
    onState(judged.state)
    for (;;) {
      await clock.sleep(INTERVAL, signal)
      if (signal.aborted) return
      const found = await look()
      const changed = !same(found, judged)
      const settled = changed && seen !== undefined && same(found, seen)
      seen = changed && !settled ? found : undefined
      if (!settled) continue
      judged = found
      onState(found.state)
    }
  }
}

function same(a: Look, b: Look): boolean {
  const messages = [a, b].map(({ state }) => (state.state === 'failed' ? state.message : ''))
  return (
    messages[0] === messages[1] && a.names.join('\n') === b.names.join('\n') && sameFiles(a.files, b.files)
  )
}

function unreadable(error: unknown): SourceState {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code !== 'string') throw error
  const message = code === 'ENOTDIR' ? 'is not a folder: name one' : whyNotRead(code, MAX_VALUE)
  return { state: 'failed', message }
}
