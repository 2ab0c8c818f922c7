import type { Clock } from '../../agent/shared/clock.ts'
import type { Logger } from '../log.ts'
import { changesOf } from './changes.ts'
import type { Config } from './config.ts'
import { ConfigError } from './findings.ts'
import { type LoadedConfig, loadConfig } from './load.ts'
import type { ReadFile } from './read-text.ts'
import {
  createRememberingReader,
  type RememberedFiles,
  type RememberingReader,
  readAgain,
  sameFiles,
} from './remembered-files.ts'

export interface ConfigWatchOptions {
  readonly path: string
  readonly readFile: ReadFile
  /** As it was read at start. */
  readonly loaded: LoadedConfig
  readonly clock: Clock
  readonly logger: Logger
  readonly metrics: ConfigMetrics
}

export interface ConfigMetrics {
  /** The files were read, at this time in seconds since the epoch, and are as they should be. */
  configTaken(at: number): void
  /** What the files hold now was refused; what was taken before stays in force. */
  configRefused(): void
}

export interface ConfigWatch {
  /** The one in force: the last that was valid. */
  current(): ConfigInForce
  /** Looks at the files until the signal aborts. Throws only for a defect. */
  run(signal: AbortSignal): Promise<void>
}

export interface ConfigInForce {
  readonly config: Config
  /** Aborts when another one has taken its place, and that is the current one. */
  readonly superseded: AbortSignal
}

/** Milliseconds between two looks: some files of a few kB are read in well under one. */
const INTERVAL = 2_000

/**
 * Takes up what changes in the configuration file and in the files that it names: all of it, or none of it where
 * anything is wrong. The same check as at start decides.
 *
 * The files themselves are read, for no notice can be relied on: the kubelet swaps a symbolic link that stands above
 * them, editors rename or write over, network file systems tell nobody. A change counts when two looks in a row have
 * found the same: the half of a file that is being written may well be valid, with a vCenter missing.
 */
export function createConfigWatch(options: ConfigWatchOptions): ConfigWatch {
  const { path, readFile, clock, logger, metrics } = options
  let { config, files: judged } = options.loaded
  let end = new AbortController()
  /** A change that one look has found. */
  let seen: RememberedFiles | undefined

  async function look(): Promise<void> {
    const reader = await readAgain(judged, readFile)
    const found = reader.files()
    const changed = !sameFiles(found, judged)
    const settled = changed && seen !== undefined && sameFiles(found, seen)
    seen = changed && !settled ? found : undefined
    if (settled) await judge(reader)
  }

  /** Judges what was read, and no later state of it. */
  async function judge(reader: RememberingReader): Promise<void> {
    const asked = createRememberingReader(reader.readFile)
    try {
      take(await loadConfig({ path, readFile: asked.readFile }))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      metrics.configRefused()
      const problems = error.message.split('\n')
      logger.error({ problems }, 'configuration refused, the one before stays in force')
    }
    judged = asked.files()
  }

  function take(loaded: LoadedConfig): void {
    metrics.configTaken(clock.now() / 1000)
    for (const warning of loaded.warnings) logger.warn({ warning }, 'configuration')
    const changed = changesOf(config, loaded.config)
    if (changed.length === 0) {
      logger.info('configuration read again, it says the same as before')
      return
    }
    logger.info({ changed }, 'configuration taken up')
    config = loaded.config
    const before = end
    end = new AbortController()
    before.abort()
  }

  metrics.configTaken(clock.now() / 1000)
  return {
    current: () => ({ config, superseded: end.signal }),
    async run(signal) {
      for (;;) {
        await clock.sleep(INTERVAL, signal)
        if (signal.aborted) return
        await look()
      }
    },
  }
}
