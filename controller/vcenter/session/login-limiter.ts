/** All logins of this process go through here, so that refused ones do not lock the account. */
import { createBackoff } from '../../../agent/shared/backoff.ts'
import { messageOf } from '../../../agent/shared/result.ts'
import type { Secret } from '../../config/secret.ts'
import type { Basics } from '../../lib/tasks.ts'
import { createTurns } from '../../lib/turns.ts'
import { type AttemptLists, type LoginAttempts, WrongClock } from '../../types/vcenter-login-attempts.ts'
import type { Timings } from '../timings.ts'
import {
  GivenUpError,
  LoginRefused,
  SessionManagerError,
  SoapFault,
  VCenterError,
  wasTurnedAway,
} from '../wire/errors.ts'
import {
  type Account,
  createKnownAccounts,
  type LoginInterface,
  nameOf,
  type Pause,
  serverOf,
  wordsFor,
} from './login-accounts.ts'
import { LIMITS, mergeAttempts, nextAttempt, recent } from './login-budget.ts'

type Change = (before: AttemptLists) => AttemptLists | undefined

interface LoginRequest<T> {
  readonly account: Account
  readonly by: LoginInterface
  /** vCenter's own (`about.instanceUuid`); the last one given for the account by default. */
  readonly instanceUUID?: string
  /**
   * Logs in. Throws a VCenterError, with the reason InvalidLogin where the credential is refused. `number` is unique among
   * the attempts of this process; `afterUnanswered` where vCenter may have accepted an earlier one, in whatever process,
   * without anybody having seen its answer.
   */
  readonly send: (password: Secret, number: number, afterUnanswered: boolean) => Promise<T>
  readonly signal: AbortSignal
}

/**
 * The logins of all vCenters, for the life of the process: across inventories, configurations and terms of leadership.
 *
 * InvalidLogin does not prove that the password is wrong (the identity source may be away, or the account locked for a
 * while). So the same password is retried at the pace of {@link Timings.refusedLogin}, and a changed one at once. Across
 * replicas and restarts an account is tried no more often than {@link LIMITS} allow: each attempt is recorded outside the
 * process before it is made, and without a record it is not made. A request for a session manager's ticket counts as an
 * attempt: it may log in for that.
 *
 * One vCenter under several names (host name and IP address) has one budget for each user, as soon as its instance UUID is
 * known, which it tells before a login. A user has one budget under all forms of his name, and so has what comes from one
 * source: a name whose form is mended is another attempt on the same account.
 */
export interface LoginLimiter {
  /** Undefined where the account may be tried, as far as this process knows. */
  pause(account: Account, by: LoginInterface): Pause | undefined
  /** Logs in. Throws what `send` throws, or a {@link LoginRefused} with the time of the next attempt. */
  login<T>(request: LoginRequest<T>): Promise<T>
}

export function createLoginLimiter(
  options: Basics & {
    readonly attempts: LoginAttempts
    readonly timings: Pick<Timings, 'refusedLogin' | 'refusedREST' | 'failedTicket'>
    /** Whether the process ends before the next attempt, so that messages promise none; by default it does not. */
    readonly once?: boolean
  },
): LoginLimiter {
  const { attempts, timings, clock, random, logger, once = false } = options
  const known = createKnownAccounts(clock, once)
  /** Logins of one account take turns, so that each heeds what became of the one before. */
  const takeTurns = createTurns()
  let count = 0

  /** Records an attempt that is about to be made, and says when; throws where none is allowed. */
  async function reserve({ account, by, signal }: LoginRequest<unknown>, password: Secret) {
    const { first, tried, held } = known.get(account)
    const limits = [
      LIMITS.any,
      ...(account.sessionManager === undefined ? [LIMITS.unanswered] : []),
      ...(tried || !first.equals(password) ? [] : [LIMITS.unknown]),
      ...(by === 'REST' ? [LIMITS.REST] : []),
    ]
    const at = clock.now()
    let next = at
    let count = 0
    let refused = 0
    let own = 0
    const add: Change = (before) => {
      const lists = before.map((list) => recent(list, at))
      const counted = mergeAttempts(lists)
      count = counted.length
      refused = counted.filter((each) => each.refused).length
      own = lists[0]?.length ?? 0
      next = nextAttempt(counted, limits, at)
      return next > at ? undefined : lists.map((list) => [...list, { at, refused: false }])
    }
    await remember(account, add, signal)
    if (next <= at) return { at, afterUnanswered: refused < count }
    const { another, advice: check } = wordsFor(account)
    const last = held.get(by)
    // Silence says nothing of the password.
    const [became, otherwise, advice] =
      refused === 0
        ? (['got no answer', 'TimedOut', NOT_ANSWERED] as const)
        : (['were refused or got no answer', 'InvalidLogin', check] as const)
    const reason = last?.error.reason ?? otherwise
    const what = `${another}: ${count} ${became} lately${own < count ? OTHERS_COUNT : ''}`
    const error = new LoginRefused(what, { retryAt: next, once, advice, reason })
    held.set(by, { password, error, until: clock.monotonic() + next - at, backoff: last?.backoff })
    throw error
  }

  async function remember(account: Account, change: Change, signal: AbortSignal): Promise<void> {
    try {
      const { alone, shared } = known.namesOf(account)
      const merge: Change = (lists) => {
        const own = mergeAttempts(lists.slice(0, alone.length))
        return change([...alone.map(() => own), ...lists.slice(alone.length)])
      }
      await attempts.update([...alone, ...shared], merge, signal)
    } catch (error) {
      if (signal.aborted) throw error
      const cause = messageOf(error)
      logger.warn({ cause }, 'login attempt not remembered')
      throw new VCenterError(
        'LoginNotRemembered',
        `no login at ${serverOf(account)}: ${error instanceof WrongClock ? error.message : NOT_RECORDED}`,
        { cause: error },
      )
    }
  }

  /** REST is used during a SOAP session. If that was made with the same password, the password is right. */
  function isRight(
    { account, by }: Pick<LoginRequest<unknown>, 'account' | 'by'>,
    password: Secret,
  ): boolean {
    return by === 'REST' && known.get(account).accepted?.equals(password) === true
  }

  /** Holds the account back after an attempt that counts, and says until when. */
  function hold({ account, by }: LoginRequest<unknown>, password: Secret, cause: VCenterError): LoginRefused {
    const { held } = known.get(account)
    const { pace, what, ...rest } = failureOf(account, by, isRight({ account, by }, password), cause)
    const before = held.get(by)
    const same =
      before?.password.equals(password) && before.backoff?.pace === pace ? before.backoff : undefined
    const backoff = same ?? { pace, by: createBackoff({ ...pace, random }) }
    const wait = backoff.by.next()
    const error = new LoginRefused(what, { ...rest, once, retryAt: clock.now() + wait, cause })
    held.set(by, { password, error, until: clock.monotonic() + wait, backoff })
    return error
  }

  /** How fast it is tried again, and what is said of it. */
  function failureOf(account: Account, by: LoginInterface, right: boolean, cause: VCenterError) {
    if (cause instanceof SessionManagerError)
      return { pace: timings.failedTicket, what: cause.message, reason: cause.reason }
    const { refused, advice: check } = wordsFor(account)
    const advice = cause instanceof SoapFault && cause.fault === 'PasswordExpired' ? EXPIRED : check
    const what = by === 'REST' ? `${refused} at its REST interface` : refused
    return right
      ? { pace: timings.refusedREST, what, advice: "SOAP accepts it; check the state of vCenter's services" }
      : { pace: timings.refusedLogin, what, advice }
  }

  async function attempt<T>(request: LoginRequest<T>): Promise<T> {
    const { account, by, send, signal } = request
    const { password } = account
    const paused = known.pause(account, by)
    if (paused !== undefined) throw paused.error
    const { at, afterUnanswered } = await reserve(request, password)
    const about = known.get(account)
    about.tried = true
    try {
      const value = await send(password, ++count, afterUnanswered)
      about.held.clear()
      if (by === 'SOAP') about.accepted = password
      // vCenter has forgotten the failures too.
      await note((before) => (before.every((list) => list.length === 0) ? undefined : before.map(() => [])))
      return value
    } catch (error) {
      if (!(error instanceof VCenterError)) throw error
      if (error.reason === 'InvalidLogin') {
        await note((before) =>
          before.map((list) => list.map((each) => (each.at === at ? { at, refused: true } : each))),
        )
        throw hold(request, password, error)
      }
      if (error instanceof SessionManagerError && error.asked) throw hold(request, password, error)
      if (!mayBeRefused(error) || isRight(request, password))
        await note((before) => before.map((list) => list.filter((each) => each.at !== at)))
      throw error
    }

    /** If this fails, the attempt counts as unanswered for a while. */
    function note(change: Change): Promise<void> {
      return remember(account, change, signal).catch(() => undefined)
    }
  }

  return {
    pause: known.pause,
    async login(request) {
      const { account, instanceUUID, signal } = request
      known.identify(account, instanceUUID)
      const { own = nameOf(account) } = known.get(account)
      // A login by REST may hang while SOAP answers. Its password is known to be right, so no other login waits for its end.
      const turn = isRight(request, account.password) ? `${own} by ${request.by}` : own
      return await takeTurns(turn, () => attempt(request), signal)
    },
  }
}

const NOT_RECORDED =
  'the attempt could not be recorded in the Lease; see the log and the state of the API server'

const EXPIRED = 'the password has expired: set a new one in vCenter, and configure it'
const NOT_ANSWERED =
  "check the state of vCenter's services and of its identity source, and whether a proxy ends requests sooner than a login takes"

const OTHERS_COUNT =
  ', with those in other forms of this name or with other users from the same source counted'

const UNANSWERED: ReadonlySet<string> = new Set([
  'TimedOut',
  'Unreachable',
  'MalformedAnswer',
  'Unavailable',
  'NotVCenter',
])

/** Whether vCenter may have refused the login all the same: a proxy may put a page of its own in the place of any refusal. */
function mayBeRefused(error: VCenterError): boolean {
  return error instanceof GivenUpError || (UNANSWERED.has(error.reason) && !wasTurnedAway(error))
}
