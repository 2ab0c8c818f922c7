import { pino } from 'pino'
import type { Logger } from '../../lib/log.ts'

/** A logger that keeps what it is told. */
export function createLogLines(): {
  logger: Logger
  lines: Record<string, unknown>[]
  messages(): unknown[]
} {
  const lines: Record<string, unknown>[] = []
  const logger = pino(
    { level: 'debug', base: null },
    { write: (line: string) => lines.push(JSON.parse(line)) },
  )
  return { logger, lines, messages: () => lines.map(({ msg }) => msg) }
}
