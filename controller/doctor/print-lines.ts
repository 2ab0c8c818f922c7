import { printable } from '../printable.ts'
import { hasFailed } from './judge.ts'
import type { Line } from './line.ts'

const MAX_MESSAGE = 2_000

/** For people: a table, and the sum below. Ends with a newline. */
export function printLines(lines: readonly Line[]): string {
  const width = Math.max(...lines.map(({ check }) => check.length))
  const counted = (status: Line['status']) => lines.filter((line) => line.status === status).length
  return [
    ...lines.map(
      ({ status, check, message }) =>
        `${status.padEnd(4)}  ${check.padEnd(width)}  ${printable(message, MAX_MESSAGE)}`,
    ),
    '',
    `${counted('ok')} ok, ${counted('warn')} warn, ${counted('fail')} fail, ${counted('skip')} skip`,
    '',
  ].join('\n')
}

/** For programs; one object, and a newline. */
export function linesJSON(lines: readonly Line[]): string {
  return `${JSON.stringify({ ok: !hasFailed(lines), checks: lines }, null, 2)}\n`
}
