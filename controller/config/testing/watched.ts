import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createHandClock, type HandClock } from '../../../test/fixtures/hand-clock.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import { readRegularFile } from '../../read-regular-file.ts'
import { loadConfig } from '../load.ts'
import { type ConfigWatch, createConfigWatch } from '../watch.ts'
import { file } from './load.ts'

export const TAKEN = 'configuration taken up'
export const REFUSED = 'configuration refused, the one before stays in force'
export const SAME = 'configuration read again, it says the same as before'

/** A watch of files in a temporary folder, its clock turned by hand. */
export interface Scene {
  readonly folder: string
  readonly watch: ConfigWatch
  readonly clock: HandClock
  readonly lines: Record<string, unknown>[]
  /** What the metrics were told, in order. */
  readonly told: string[]
  put(name: string, text: string): void
  /** Lets so many looks happen. */
  looks(count: number): Promise<void>
  /** Messages since the last question. */
  said(): unknown[]
}

/** A watch of a folder with these files; `prepare` may lay them out otherwise. */
export async function open(
  t: Test,
  files: Record<string, string> = { 'vsphere.conf': file() },
  prepare?: (folder: string) => void,
): Promise<Scene> {
  const folder = t.testdir({ ...files })
  prepare?.(folder)
  const path = join(folder, 'vsphere.conf')
  const readFile = async (path: string, maxBytes: number) => readRegularFile(path, maxBytes)
  const clock = createHandClock()
  const { logger, lines } = createLogLines()
  const told: string[] = []
  const watch = createConfigWatch({
    path,
    readFile,
    loaded: await loadConfig({ path, readFile }),
    clock,
    logger,
    metrics: {
      configTaken: (at) => void told.push(`taken at ${at - Date.parse('2026-01-01') / 1000} s`),
      configRefused: () => void told.push('refused'),
    },
  })
  const end = new AbortController()
  const running = watch.run(end.signal)
  t.teardown(async () => {
    end.abort()
    await running
    if (clock.sleepers > 0) throw new Error('the watch has ended and still sleeps')
  })
  let heard = 0
  return {
    folder,
    watch,
    clock,
    lines,
    told,
    put: (name, text) => writeFileSync(join(folder, name), text),
    looks: (count) => clock.turn(count * 2_000),
    said() {
      const news = lines.slice(heard).map(({ msg }) => msg)
      heard = lines.length
      return news
    },
  }
}
