import { escapeUnprintable } from './shared/printable.ts'
import { LOG_LEVELS, type LogLevel } from './shared/program.ts'

/** Each logs one constant message; whatever varies is in fields. */
export type Logger = Readonly<
  Record<LogLevel, (fields: Readonly<Record<string, unknown>>, message: string) => void>
>

/**
 * JSON lines of the same shape as the controller's. Not pino, which costs 3 MB of the 15 that the agent may hold at
 * rest. An `Error` in a field becomes its message and the messages of its causes. What a
 * terminal would act on is escaped.
 */
export function createLogger(options: {
  readonly level: LogLevel
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Writes one line, including its newline. */
  readonly write: (line: string) => void
}): Logger {
  const { level, now, write } = options
  const lowest = LOG_LEVELS.indexOf(level)
  const at =
    (own: LogLevel): Logger[LogLevel] =>
    (fields, message) => {
      if (LOG_LEVELS.indexOf(own) < lowest) return
      const line = { level: own, time: new Date(now()).toISOString(), ...fields, msg: message }
      const text = JSON.stringify(line, (_, value) => (value instanceof Error ? describe(value) : value))
      write(`${escapeUnprintable(text)}\n`)
    }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** An error's message, then the messages of its causes. */
export function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : `${error.message}: ${describe(error.cause)}`
}
