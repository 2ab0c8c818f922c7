/** What remembers logins in tests. */
import { pino } from 'pino'
import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import type { LoginAttempt, LoginAttempts } from '../../types/vcenter-login-attempts.ts'
import { createLoginLimiter, type LoginLimiter } from '../session/login-limiter.ts'
import { TIMINGS, type Timings } from '../timings.ts'

/** A memory that outlives no test, and whether it can be reached. */
export interface AttemptsInMemory extends LoginAttempts {
  readonly accounts: Map<string, readonly LoginAttempt[]>
  /** Or why it cannot. */
  away: boolean | Error
}

export function attemptsInMemory(): AttemptsInMemory {
  const accounts = new Map<string, readonly LoginAttempt[]>()
  const self: AttemptsInMemory = {
    accounts,
    away: false,
    async update(names, change) {
      if (self.away instanceof Error) throw self.away
      if (self.away) throw new Error('connection refused')
      const changed = change(names.map((name) => accounts.get(name) ?? []))
      for (const [index, list] of (changed ?? []).entries()) accounts.set(names[index] ?? '', list)
    },
  }
  return self
}

export interface TestLoginsOptions {
  readonly attempts?: LoginAttempts
  readonly timings?: Timings
  readonly clock?: Clock
  readonly random?: () => number
  readonly once?: boolean
}

/** The logins of a process. */
export function testLogins(options: TestLoginsOptions = {}): LoginLimiter {
  return createLoginLimiter({
    attempts: attemptsInMemory(),
    timings: TIMINGS,
    clock: systemClock,
    random: Math.random,
    logger: pino({ level: 'silent' }),
    ...options,
  })
}
