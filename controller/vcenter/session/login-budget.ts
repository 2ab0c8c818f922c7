/** How many logins an account bears without being locked out, should all of them be refused. */
import type { LoginAttempt } from '../../types/login-attempts.ts'

interface Limit {
  readonly attempts: number
  /** Milliseconds. */
  readonly within: number
  /** Whether those count too of which vCenter's answer is not known. */
  readonly unanswered: boolean
}

const MINUTE = 60_000

/**
 * vCenter locks an account at the fifth failure within 180 s, by its default policy, and forgets failures when a login
 * succeeds ("Edit the vCenter Single Sign-On Lockout Policy"). The limits are narrower in number and wider in time: others
 * use the account too, the replicas' clocks differ, and a domain may count for a quarter of an hour.
 */
export const LIMITS = {
  any: { attempts: 4, within: 5 * MINUTE, unanswered: true },
  /** Of a process that does not know which password was refused before: it may be its own. */
  unknown: { attempts: 3, within: 15 * MINUTE, unanswered: false },
  /** Of REST, which must leave some to SOAP: without that there is no vCenter, without REST there are no tags. */
  REST: { attempts: 2, within: 15 * MINUTE, unanswered: false },
} as const satisfies Record<string, Limit>

/** The longest of them: what is older does not count, nor what a wrong clock dated so far ahead. */
const REMEMBERED = 15 * MINUTE

/** Those attempts that may still count. Times in milliseconds since the epoch, here and below. */
export function recent(attempts: readonly LoginAttempt[], now: number): readonly LoginAttempt[] {
  return attempts.filter(({ at }) => Math.abs(now - at) < REMEMBERED)
}

/** When an account with these attempts may be tried next; `now` where it may at once. */
export function nextAttempt(
  attempts: readonly LoginAttempt[],
  limits: readonly Limit[],
  now: number,
): number {
  const latestFirst = recent(attempts, now).toSorted((a, b) => b.at - a.at)
  const ends = limits.map((limit) => {
    const counted = latestFirst.filter(({ refused }) => refused || limit.unanswered)
    const decisive = counted[limit.attempts - 1]
    return decisive === undefined ? now : decisive.at + limit.within
  })
  return Math.max(now, ...ends)
}
