import { columns, escapeUnprintable, printable } from './printable.ts'

/** What `doctor` says: one line for each check. Both programs have one. */
export type Status =
  | 'ok'
  /** It works, but perhaps not for long, or not as intended. */
  | 'warn'
  | 'fail'
  /** Not looked at, or not visible; the message says why. */
  | 'skip'

/** What a check comes to. */
export interface CheckResult {
  readonly status: Status
  /** What is so, and the next step unless all is well. */
  readonly message: string
}

export interface Line extends CheckResult {
  readonly check: string
}

export const fine = (message: string): CheckResult => ({ status: 'ok', message })
export const warn = (message: string): CheckResult => ({ status: 'warn', message })
export const fail = (message: string): CheckResult => ({ status: 'fail', message })
export const skip = (message: string): CheckResult => ({ status: 'skip', message })

/**
 * The lines of checks of which each may depend on those before it.
 *
 * @param steps without a result where there was nothing to look at, because an earlier check has failed
 * @param blocked a check outside of these that all of them depend on, where that has failed
 */
export function chain(
  steps: readonly (readonly [check: string, result: CheckResult | undefined])[],
  blocked?: string,
): readonly Line[] {
  let cause = blocked
  let skipped: string | undefined
  return steps.map(([check, result]) => {
    const why = cause ?? skipped
    if (result === undefined)
      return { check, ...skip(why === undefined ? 'not checked' : `not checked, because of "${why}"`) }
    if (result.status === 'fail') cause ??= check
    if (result.status === 'skip') skipped ??= check
    return { check, ...result }
  })
}

/** Milliseconds: what the network and a whole second may add. */
const UNNOTICED = 10_000
/** Beyond this tokens and certificates of one machine are refused by another, and times in reports mislead. */
const MOST = 60_000

/** @param skew whose clock minus that of this machine, milliseconds */
export function judgeClock(whose: string, skew: number): CheckResult {
  const seconds = Math.round(Math.abs(skew) / 1000)
  if (Math.abs(skew) <= UNNOTICED) return fine('agrees with this machine')
  const message = `the clock of ${whose} is ${seconds} s ${skew > 0 ? 'ahead of' : 'behind'} that of this machine; check NTP on both`
  return Math.abs(skew) > MOST ? fail(message) : warn(message)
}

/** Whether any of them failed. */
export function hasFailed(lines: readonly Line[]): boolean {
  return lines.some(({ status }) => status === 'fail')
}

/** Longest message of a line. */
const MAX_MESSAGE = 2_000

/** For people: a table, and the sum below. Ends with a newline. */
export function printLines(lines: readonly Line[]): string {
  const counted = (status: Status) => lines.filter((line) => line.status === status).length
  return [
    ...columns(lines.map(({ status, check, message }) => [status, check, printable(message, MAX_MESSAGE)])),
    '',
    `${counted('ok')} ok, ${counted('warn')} warn, ${counted('fail')} fail, ${counted('skip')} skip`,
    '',
  ].join('\n')
}

/** For programs; one object, and a newline. */
export function linesJSON(lines: readonly Line[]): string {
  return `${escapeUnprintable(JSON.stringify({ ok: !hasFailed(lines), checks: lines }, null, 2))}\n`
}
