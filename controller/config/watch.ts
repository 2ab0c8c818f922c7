import { follow } from '../lib/follow.ts'
import { type Basics, every } from '../lib/tasks.ts'
import { changesOf } from './changes.ts'
import type { Config } from './config.ts'
import { ConfigError } from './findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from './load.ts'
import { createRememberingReader, type RememberingReader, readAgain, sameFiles } from './read-files.ts'

export interface ConfigMetrics {
  /** The files were read and are valid; `at` is the time in seconds since the epoch. */
  configTaken(at: number): void
  /** The files are invalid now; the last valid configuration stays in force. */
  configRefused(): void
}

export interface ConfigWatch {
  /** The configuration in force: the last valid one. */
  current(): {
    readonly config: Config
    /** Aborts when another configuration has replaced it. */
    readonly superseded: AbortSignal
  }
  /** Why the files that are there now are refused; undefined while they are in force. */
  refusal(): string | undefined
  /** Checks the files regularly until the signal aborts. Throws only for a defect. */
  run(signal: AbortSignal): Promise<void>
}

/** Milliseconds between two checks; reading a few files of some kB takes well under one. */
const INTERVAL = 2_000

/**
 * Applies changes of the configuration file and of the files that it names: all of them, or none if anything is wrong. The
 * checks are the same as at start.
 *
 * The files are read regularly because no notification is reliable: the kubelet swaps a symbolic link above them, editors
 * rename or overwrite, network file systems notify nobody. A change counts only when two checks in a row have found the
 * same, because a half-written file may be valid but lack a vCenter.
 */
export function createConfigWatch(
  options: ConfigSource &
    Pick<Basics, 'clock' | 'logger'> & {
      /** As it was read at start. */
      readonly loaded: LoadedConfig
      readonly metrics: ConfigMetrics
    },
): ConfigWatch {
  const { readFile, loaded, clock, logger, metrics } = options
  let { config } = loaded
  let end = new AbortController()
  let refusal: string | undefined
  const look = follow<Pick<LoadedConfig, 'files'>, RememberingReader>(loaded, {
    look: ({ files }) => readAgain(files, readFile),
    same: (a, b) => sameFiles(a.files, b.files),
    settles: true,
    onChange: judge,
  })

  /** Checks exactly what was read, not a later state of the files. Another text may name other files. */
  async function judge(reader: RememberingReader): Promise<RememberingReader> {
    const asked = createRememberingReader(reader.readFile)
    const levelInForce = config.identity.require
    try {
      take(await loadConfig({ ...options, levelInForce, readFile: asked.readFile }))
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      metrics.configRefused()
      const problems = error.message.split('\n')
      refusal = problems.join('; ')
      logger.error({ problems }, 'configuration refused, the previous one stays in force')
    }
    return asked
  }

  function take(loaded: LoadedConfig): void {
    metrics.configTaken(clock.now() / 1000)
    refusal = undefined
    for (const warning of loaded.warnings) logger.warn({ warning }, 'configuration')
    const changed = changesOf(config, loaded.config)
    if (changed.length === 0) {
      logger.info('configuration read again, unchanged')
      return
    }
    logger.info({ changed }, 'configuration loaded')
    config = loaded.config
    const before = end
    end = new AbortController()
    before.abort()
  }

  metrics.configTaken(clock.now() / 1000)
  return {
    current: () => ({ config, superseded: end.signal }),
    refusal: () => refusal,
    run: every(INTERVAL, look, clock),
  }
}
