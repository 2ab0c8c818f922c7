/** Accounts: the names under which their logins are counted, the words for them, and what this process knows of each. */

import { hash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { Backoff } from '../../../agent/shared/backoff.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import { CANONICAL_UUID } from '../../../agent/shared/uuid.ts'
import type { VCenterConfig } from '../../config/config.ts'
import type { Secret } from '../../config/secret.ts'
import type { Timings } from '../timings.ts'
import { LoginRefused } from '../wire/errors.ts'

/**
 * The account to log in with, or the session manager in its place. The password is the one configured now; that of a
 * session manager is its token.
 */
export type Account = Pick<
  VCenterConfig,
  'name' | 'server' | 'port' | 'user' | 'password' | 'userSource' | 'sessionManager' | 'oddity'
>

export function serverOf({ server, port }: Account): string {
  return `${isIPv6(server) ? `[${server}]` : server}:${port}`
}

/** What messages say of a login. */
export function wordsFor(account: Account) {
  const server = serverOf(account)
  const who = described(account)
  if (account.sessionManager !== undefined)
    return {
      another: `no further session for ${server} is requested from ${who}`,
      refused: `${who} refuses the configured token`,
      advice: "check the token, and the session manager's log",
    }
  return {
    another: `no further login to ${server} is attempted as ${who}`,
    refused: `${server} refuses ${who} with the configured password`,
    advice: ['check user and password', ...(account.oddity === undefined ? [] : [account.oddity])].join('; '),
  }
}

/** The user, or where it is where nobody has checked what that holds. */
function described({ user, userSource, sessionManager }: Account): string {
  if (sessionManager !== undefined) return `the session manager of ${userSource ?? 'the configuration'}`
  return userSource === undefined ? `the user ${user}` : `the user of ${userSource}`
}

/**
 * Identifies an account by the configured server, without naming the user, or the URL. Directories are case-insensitive.
 * Tenants may share a session manager, each with a token in a Secret of its own: that Secret tells them apart.
 */
export function nameOf(account: Account): string {
  return `${serverOf(account).toLowerCase()}/${hashOf(account)}`
}

/**
 * The same by vCenter's own identity (`about.instanceUuid`, lower case), whatever the server is called in the configuration;
 * undefined where that is not known.
 */
function ownNameOf(account: Account, instanceUUID: string | undefined): string | undefined {
  // What is in another form is not written into the Lease.
  return instanceUUID !== undefined && CANONICAL_UUID.test(instanceUUID)
    ? `${instanceUUID}/${hashOf(account)}`
    : undefined
}

/**
 * Further names under which its attempts are counted, at `place`, a server or a vCenter's own identity. Each is shared with other
 * accounts:
 * - the user without a domain, however that is spelled. A name without one belongs to a domain that only vCenter knows, and a
 *   NetBIOS name does not tell the DNS name of its domain;
 * - where the credential comes from, so that a spelling nobody thought of is bounded too.
 */
function sharedNamesOf(account: Account, place: string): readonly string[] {
  const { name, user, userSource, sessionManager } = account
  const source = `${place}/source-${digestOf(userSource ?? `entry ${name}`)}`
  return sessionManager === undefined ? [`${place}/${digestOf(userPart(user))}`, source] : [source]
}

/** `administrator` of `administrator@vsphere.local`, ` VSPHERE.LOCAL\\Administrator` and `Administrator`. */
function userPart(user: string): string {
  const plain = user.normalize('NFKC').replaceAll(INVISIBLE, '').toLowerCase()
  const part = plain.replace(/^.*[\\/]/s, '').replace(/@.*$/s, '')
  return part === '' ? plain : part
}

function hashOf({ user, sessionManager, userSource = '' }: Account): string {
  return digestOf(sessionManager === undefined ? user.toLowerCase() : `${sessionManager} ${userSource}`)
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 12)
}

const INVISIBLE = /[\p{Z}\p{C}]/gu

/** Which of vCenter's interfaces. */
export type LoginInterface = 'SOAP' | 'REST'

/** Why an account must not be tried now. */
export interface Pause {
  readonly error: LoginRefused
  /** Milliseconds until it may be tried again with this password. */
  readonly left: number
}

/** An account under one of its configured names. */
interface KnownAccount {
  /** Its name by vCenter's own identity, the same for all of its configured names; undefined before the first attempt. */
  own: string | undefined
  /** The password of the first attempt, whether made or held back. */
  readonly first: Secret
  tried: boolean
  /** The password that SOAP has accepted last. */
  accepted: Secret | undefined
  /** Why it is held back. */
  readonly held: Map<
    LoginInterface,
    {
      readonly password: Secret
      readonly error: LoginRefused
      /** Monotonic. */
      readonly until: number
      /** Backoff for this password, and its pace; undefined before it was tried. */
      readonly backoff: { readonly pace: Timings['refusedLogin']; readonly by: Backoff } | undefined
    }
  >
}

/**
 * What this process knows of accounts from its own logins.
 *
 * @param once as for the login limiter
 */
export function createKnownAccounts(clock: Clock, once: boolean) {
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
    /** To be called with `about.instanceUuid` where vCenter has told it. */
    identify(account: Account, instanceUUID: string | undefined): void {
      const known = get(account)
      known.own = ownNameOf(account, instanceUUID) ?? known.own
    },
    /**
     * All names under which its attempts are counted: `alone` as configured, by vCenter's own identity, then as configured
     * otherwise; `shared` those that it shares with other accounts, or with other forms of its user's name.
     */
    namesOf(account: Account) {
      const { own } = get(account)
      // Earlier versions know an account by its configured names alone.
      const configured = others(account).map(([name]) => name)
      const alone = [nameOf(account), ...(own === undefined ? [] : [own]), ...configured]
      const place = own?.split('/')[0] ?? serverOf(account).toLowerCase()
      return { alone, shared: sharedNamesOf(account, place).filter((name) => !alone.includes(name)) }
    },
    /** Undefined where the account may be tried, under whatever name, as far as this process knows. */
    pause(account: Account, by: LoginInterface): Pause | undefined {
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
