import { type Logger, pino } from 'pino'
import type { LogLevel } from '../agent/shared/log-level.ts'

export type { Logger }

/**
 * JSON lines on stderr. Messages are constant; whatever varies is in fields, such as `node` and `vCenter`. Writes are
 * synchronous, so that the last lines of a dying process are not lost.
 */
export function createLogger(level: LogLevel): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    pino.destination({ dest: 2, sync: true }),
  )
}
