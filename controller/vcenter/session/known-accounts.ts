/** What this process knows of accounts from its own logins. */
import type { Backoff } from '../../../agent/shared/backoff.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Secret } from '../../config/secret.ts'
import type { Timings } from '../timings.ts'
import { LoginRefused } from '../wire/errors.ts'
import { type Account, nameOf, ownNameOf, serverOf, sharedNamesOf, wordsFor } from './login-account.ts'

/** Which of vCenter's interfaces. */
export type LoginInterface = 'SOAP' | 'REST'

/** Why an account must not be tried now. */
export interface Pause {
  readonly error: LoginRefused
  /** Milliseconds until it may be tried again with this password. */
  readonly left: number
}

export interface Held {
  readonly password: Secret
  readonly error: LoginRefused
  /** Monotonic. */
  readonly until: number
  /** Backoff for this password, and its pace; undefined before it was tried. */
  readonly backoff: { readonly pace: Timings['refusedLogin']; readonly by: Backoff } | undefined
}

/** An account under one of its configured names. */
export interface KnownAccount {
  /** Its name by vCenter's own identity, the same for all of its configured names; undefined before the first attempt. */
  own: string | undefined
  /** The password of the first attempt, whether made or held back. */
  readonly first: Secret
  tried: boolean
  /** The password that SOAP has accepted last. */
  accepted: Secret | undefined
  readonly held: Map<LoginInterface, Held>
}

export interface AccountNames {
  /** As configured, by vCenter's own identity, then as configured otherwise. */
  readonly alone: readonly string[]
  /** Those that it shares with other accounts, or with other forms of its user's name. */
  readonly shared: readonly string[]
}

export interface KnownAccounts {
  get(account: Account): KnownAccount
  /** To be called with `about.instanceUuid` where vCenter has told it. */
  identify(account: Account, instanceUUID: string | undefined): void
  /** All names under which its attempts are counted. */
  namesOf(account: Account): AccountNames
  /** Undefined where the account may be tried, under whatever name, as far as this process knows. */
  pause(account: Account, by: LoginInterface): Pause | undefined
}

/** @param once as in `LoginLimiterOptions` */
export function createKnownAccounts(clock: Clock, once: boolean): KnownAccounts {
  const accounts = new Map<string, KnownAccount>()

  function get(account: Account): KnownAccount {
    const name = nameOf(account)
    const found = accounts.get(name) ?? {
      own: undefined,
      first: account.password,
      tried: false,
      accepted: undefined,
      held: new Map(),
    }
    accounts.set(name, found)
    return found
  }

  /** The same account under its other configured names, as far as they are known to be of the same vCenter. */
  function others(account: Account): readonly [name: string, KnownAccount][] {
    const self = get(account)
    if (self.own === undefined) return []
    return [...accounts].filter(([, each]) => each !== self && each.own === self.own)
  }

  function pauseOf({ held }: KnownAccount, password: Secret, by: LoginInterface): Pause | undefined {
    const last = held.get(by)
    if (last === undefined || !last.password.equals(password)) return undefined
    const left = last.until - clock.monotonic()
    return left > 0 ? { error: last.error, left } : undefined
  }

  return {
    get,
    identify(account, instanceUUID) {
      const known = get(account)
      known.own = ownNameOf(account, instanceUUID) ?? known.own
    },
    namesOf(account) {
      const { own } = get(account)
      // Earlier versions know an account by its configured names alone.
      const configured = others(account).map(([name]) => name)
      const alone = [nameOf(account), ...(own === undefined ? [] : [own]), ...configured]
      const place = own?.split('/')[0] ?? serverOf(account).toLowerCase()
      return { alone, shared: sharedNamesOf(account, place).filter((name) => !alone.includes(name)) }
    },
    pause(account, by) {
      const self = pauseOf(get(account), account.password, by)
      if (self !== undefined) return self
      for (const [, other] of others(account)) {
        const pause = pauseOf(other, account.password, by)
        if (pause === undefined) continue
        const { another, advice } = wordsFor(account)
        const { retryAt, reason } = pause.error
        const what = `${another}: it was refused under another name of the same vCenter`
        return { error: new LoginRefused(what, { retryAt, once, advice, reason }), left: pause.left }
      }
      return undefined
    },
  }
}
