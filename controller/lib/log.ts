import { type Logger, pino } from 'pino'
import { escapeUnprintable } from '../../agent/shared/printable.ts'
import type { LogLevel } from '../../agent/shared/program.ts'

export type { Logger }

/**
 * JSON lines on stderr. Messages are constant; whatever varies is in fields, such as `node` and `vCenter`. Writes are
 * synchronous, so that the last lines of a dying process are not lost. What strangers named is in them as they named it, with
 * escapes for all that a terminal would act on.
 */
export function createLogger(options: {
  readonly level: LogLevel | 'silent'
  /** Milliseconds since the epoch. */
  readonly now: () => number
}): Logger {
  const { level, now } = options
  const stderr = pino.destination({ dest: 2, sync: true })
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => void stderr.write(escapeUnprintable(line)) },
  )
}
