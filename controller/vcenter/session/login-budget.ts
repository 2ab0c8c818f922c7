/** How often an account may be tried, so that vCenter does not lock it. No I/O. */
import { type LoginAttempt, REMEMBERED } from '../../types/vcenter-login-attempts.ts'

/**
 * vCenter locks an account at the fifth failure within 180 s, by its default policy, and forgets failures when a login
 * succeeds ("Edit the vCenter Single Sign-On Lockout Policy"). The limits allow fewer attempts over a longer time:
 * others use the account too, the replicas' clocks differ, and a domain may count over a quarter of an hour. `within` is
 * milliseconds; `counts` tells which attempts count.
 */
export const LIMITS = {
  any: { attempts: 4, within: 5 * 60_000, counts: 'all' },
  /** Each may have left a session in vCenter, which lasts for half an hour. */
  unanswered: { attempts: 5, within: REMEMBERED, counts: 'unanswered' },
  /** For a process that does not know which password was refused before: it may be the same one. */
  unknown: { attempts: 3, within: REMEMBERED, counts: 'refused' },
  /** For REST, which must leave attempts to SOAP: without SOAP there is no inventory, without REST only no tags. */
  REST: { attempts: 2, within: REMEMBERED, counts: 'refused' },
} as const

/**
 * The attempts that may still count: no older ones, nor those that a wrong clock dated further ahead. Times are milliseconds
 * since the epoch, here and below.
 */
export function recent(attempts: readonly LoginAttempt[], now: number): readonly LoginAttempt[] {
  return attempts.filter(({ at }) => Math.abs(now - at) < REMEMBERED)
}

/** The attempts on an account that is known by several names: one that is recorded under two of them counts once. */
export function mergeAttempts(lists: readonly (readonly LoginAttempt[])[]): readonly LoginAttempt[] {
  const merged = new Map<number, readonly LoginAttempt[]>()
  for (const list of lists) {
    for (const [at, some] of Map.groupBy(list, (each) => each.at)) {
      const before = merged.get(at) ?? []
      const refused = (attempts: readonly LoginAttempt[]) => attempts.filter((each) => each.refused).length
      const most = Math.max(refused(before), refused(some))
      const length = Math.max(before.length, some.length)
      merged.set(
        at,
        Array.from({ length }, (_, index) => ({ at, refused: index < most })),
      )
    }
  }
  return [...merged.values()].flat()
}

/** When an account with these attempts may be tried next; `now` for at once. */
export function nextAttempt(
  attempts: readonly LoginAttempt[],
  limits: readonly (typeof LIMITS)[keyof typeof LIMITS][],
  now: number,
): number {
  const latestFirst = recent(attempts, now).toSorted((a, b) => b.at - a.at)
  const ends = limits.map((limit) => {
    const counted = latestFirst.filter(
      ({ refused }) => limit.counts === 'all' || limit.counts === (refused ? 'refused' : 'unanswered'),
    )
    const decisive = counted[limit.attempts - 1]
    return decisive === undefined ? now : decisive.at + limit.within
  })
  return Math.max(now, ...ends)
}
