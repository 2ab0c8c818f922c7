/** What `doctor` prints: one line for each check. */
export type Status =
  | 'ok'
  /** It works, and might not for long, or not as meant. */
  | 'warn'
  | 'fail'
  /** Not looked at, or not to be seen; the message says why. */
  | 'skip'

/** What a check comes to. */
export interface Verdict {
  readonly status: Status
  /** What is so, and the next step unless all is well. */
  readonly message: string
}

export interface Line extends Verdict {
  readonly check: string
}

export const ok = (message: string): Verdict => ({ status: 'ok', message })
export const warn = (message: string): Verdict => ({ status: 'warn', message })
export const fail = (message: string): Verdict => ({ status: 'fail', message })
export const skip = (message: string): Verdict => ({ status: 'skip', message })

/** Undefined where there was nothing to look at, because an earlier check has failed. */
export type Step = readonly [check: string, verdict: Verdict | undefined]

/**
 * The lines of checks of which each may depend on those before it.
 *
 * @param blocked a check outside of these that all of them depend on, where that has failed
 */
export function chain(steps: readonly Step[], blocked?: string): readonly Line[] {
  let cause = blocked
  return steps.map(([check, verdict]) => {
    if (verdict === undefined)
      return { check, ...skip(`not looked at, because of "${cause ?? 'an earlier line'}"`) }
    if (verdict.status === 'fail') cause ??= check
    return { check, ...verdict }
  })
}
