import type { Clock } from '../../agent/shared/clock.ts'
import { messageOf } from '../../agent/shared/result.ts'
import type { Basics } from '../lib/tasks.ts'
import { createDeadline } from './client.ts'
import { createLeaseRenewer, type LeaseRenewer, type LeaseStore } from './lease.ts'

/** Milliseconds; each must be well below the one before, so that a leader stops before another may start. */
export interface ElectionTiming {
  /** For how long a Lease that nobody renews is its holder's. Whole seconds are written. */
  readonly leaseDuration: number
  /** For how long a leader tries to renew before it stops. */
  readonly renewDeadline: number
  readonly retryPeriod: number
}

/** client-go's. */
export const DEFAULT_TIMING: ElectionTiming = {
  leaseDuration: 15_000,
  renewDeadline: 10_000,
  retryPeriod: 2_000,
}
const RETRY_JITTER = 1.2
const RELEASE_TIMEOUT = 2_000
/** How long past its lease a leader may take to stop before it counts as stuck. */
const STUCK_AFTER = 20_000

/**
 * The leader's work. The signal aborts when leadership is lost or the election ends; the function then winds down and
 * returns. If it returns by itself, the election ends; if it throws, the election throws.
 */
export type Lead = (term: Term, signal: AbortSignal) => Promise<void>

export interface LeaderElection {
  /** Competes for the Lease until the signal aborts, then releases it. */
  run(lead: Lead, signal: AbortSignal): Promise<void>
  /** While this replica leads; see {@link LeaseRenewer.annotate}. */
  readonly annotate: LeaseRenewer['annotate']
  /** See {@link LeaseRenewer.leaseUID}. */
  leaseUID(): string | undefined
  status(): {
    /** Whether lead() is running. */
    readonly leading: boolean
    /** Who held the Lease when it was last read; empty for nobody, undefined where the last attempt failed. */
    readonly holder: string | undefined
    /** For a liveness probe: says so if this process still leads although it should long have stopped. */
    readonly problem: string | undefined
  }
}

/**
 * Leader election by client-go's rules (`tools/leaderelection`). The Lease of another counts as expired when it has not
 * changed for its own duration by this process's monotonic clock; no clock is compared with another's.
 *
 * It keeps two leaders apart in time as long as clocks run at the same speed, but it does not fence anything: writes need
 * preconditions, and anything that cannot be undone needs the term's confirmation.
 *
 * Unlike in client-go, the next leader tries at the very moment of expiry, so that a dead leader is replaced within 20 s.
 * At the end the Lease is renewed until lead() has returned, and only then released.
 */
export function createLeaderElection(
  options: Basics & {
    readonly lease: LeaseStore
    /** Unique to this process: the next process on the same host has another one. */
    readonly identity: string
    /** {@link DEFAULT_TIMING} by default. */
    readonly timing?: ElectionTiming
    /** See {@link createLeaseRenewer}. */
    readonly onSlowPath?: () => void
  },
): LeaderElection {
  const { clock, random, logger, identity, timing = DEFAULT_TIMING } = options
  const { leaseDuration, renewDeadline, retryPeriod } = timing
  const renewer = createLeaseRenewer({ ...options, durationSeconds: Math.floor(leaseDuration / 1000) })
  let leading = false
  /** Whether the last attempt had an answer. */
  let answered = false
  let current: ReturnType<typeof createTerm> | undefined

  /** Resolves with true when the Lease is ours, with false when the signal has aborted. */
  async function acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if (await attempt(renewer.acquireOrRenew, renewDeadline, signal)) return true
      const retry = retryPeriod * (1 + random() * RETRY_JITTER)
      // The moment of expiry is known: waiting longer would leave the cluster without a leader for up to one retry.
      const expiry = renewer.expiresIn
      await clock.sleep(expiry > 0 ? Math.min(expiry, retry) : retry, signal)
    }
    return false
  }

  /** Renews until the signal aborts; resolves with whether the Lease is still ours. */
  async function keep(signal: AbortSignal): Promise<boolean> {
    const never = new AbortController().signal
    for (;;) {
      await clock.sleep(retryPeriod, signal)
      if (signal.aborted) return true
      const left = renewer.renewedAt + renewDeadline - clock.monotonic()
      // An attempt under way is finished even when the signal aborts: the release must know its outcome.
      if (left > 0) await attempt(renewer.renew, left, never)
      const lost = renewer.holder !== identity || clock.monotonic() - renewer.renewedAt >= renewDeadline
      if (lost) return false
    }
  }

  /** One attempt to get or keep the Lease; an error is logged and counts as not successful. */
  async function attempt(step: LeaseRenewer['renew'], ms: number, signal: AbortSignal): Promise<boolean> {
    const deadline = createDeadline(clock, ms, signal)
    try {
      const ours = await step(deadline.signal)
      answered = true
      return ours
    } catch (error) {
      answered = false
      if (!signal.aborted) logger.warn({ leading, cause: messageOf(error) }, 'lease not written')
      return false
    } finally {
      deadline.release()
    }
  }

  async function release(): Promise<void> {
    const deadline = createDeadline(clock, RELEASE_TIMEOUT, new AbortController().signal)
    try {
      await renewer.release(deadline.signal)
      logger.info({ identity }, 'leadership given back')
    } catch (error) {
      // Not worth failing for: the next leader just waits until the Lease expires.
      logger.warn({ cause: messageOf(error) }, 'lease not released')
    } finally {
      deadline.release()
    }
  }

  /** Leads for one term; resolves with whether the Lease was lost. */
  async function serve(lead: Lead, signal: AbortSignal): Promise<boolean> {
    const stop = new AbortController()
    const done = new AbortController()
    const abort = () => stop.abort()
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
    logger.info({ identity }, 'leadership begins')
    leading = true
    const term = createTerm({
      renewer,
      identity,
      renewDeadline,
      renew: (ms, over) => attempt(renewer.renew, ms, over),
      clock,
    })
    current = term
    const work = lead(term, stop.signal).finally(() => done.abort())
    let kept = true
    const [outcome] = await Promise.allSettled([
      work,
      keep(done.signal).then(async (still) => {
        kept = still
        if (still) return
        logger.error({ identity, holder: renewer.holder }, 'leadership lost')
        stop.abort()
        // A confirmation that comes late must not bring the term back to life.
        await term.end()
      }),
    ])
    leading = false
    await term.end()
    signal.removeEventListener('abort', abort)
    if (kept) await release()
    if (outcome.status === 'rejected') throw outcome.reason
    return !kept
  }

  return {
    async run(lead, signal) {
      while (await acquire(signal)) {
        const lost = await serve(lead, signal)
        if (!lost) return
      }
    },
    annotate: async (edit, signal) => current?.holds() === true && (await renewer.annotate(edit, signal)),
    leaseUID: () => renewer.leaseUID,
    status() {
      const late = clock.monotonic() - renewer.renewedAt - leaseDuration
      const stuck = leading && late > STUCK_AFTER
      const problem = stuck
        ? `still leads although its Lease ended ${Math.round(late / 1000)} s ago: it must be restarted`
        : undefined
      return { leading, holder: answered ? renewer.holder : undefined, problem }
    },
  }
}

/** One uninterrupted period as leader, for work that must be sure to lead. */
export interface Term {
  /**
   * Milliseconds from becoming leader to the last successful renewal, so that time in which it was frozen, cut off or late
   * never counts. 0 when the term is over.
   */
  leadingFor(): number
  /** Whether no other replica can lead yet, by both of this process's clocks. Costs nothing. */
  holds(): boolean
  /**
   * Renews the Lease now and says whether that succeeded: to be called right before anything that cannot be undone. False
   * too when no answer came in time, when the term is over, and when the signal aborts; never throws. Calls within a second
   * of each other share the answer.
   */
  confirm(signal: AbortSignal): Promise<boolean>
}

/** For one confirmation, which takes up to three requests. */
const CONFIRM_TIMEOUT = 4_000
/** For how long calls share a confirmation, from its start: a hundred Nodes at once cost one write. */
const SHARED_FOR = 1_000

function createTerm(options: {
  readonly renewer: Pick<LeaseRenewer, 'holder' | 'renewedAt' | 'renewedAtWall'>
  readonly identity: string
  /** Milliseconds after the last renewal at which the term is over. */
  readonly renewDeadline: number
  /** One attempt to renew within `ms` milliseconds; resolves with whether it succeeded. Must not reject. */
  readonly renew: (ms: number, signal: AbortSignal) => Promise<boolean>
  readonly clock: Clock
}): Term & {
  /** Ends the term: nothing is confirmed any more. Resolves when no confirmation is under way. */
  end(): Promise<void>
} {
  const { renewer, identity, renewDeadline, renew, clock } = options
  const began = clock.monotonic()
  const over = new AbortController()
  /** The latest confirmation and its monotonic start time. */
  let latest: { readonly at: number; readonly answer: Promise<boolean> } | undefined

  function holds(): boolean {
    if (over.signal.aborted || renewer.holder !== identity) return false
    // The monotonic clock of a suspended machine stands still while a successor takes over. The wall clock may be set at any
    // time, but that can only stop writes until the next renewal.
    return (
      clock.monotonic() - renewer.renewedAt < renewDeadline &&
      Math.abs(clock.now() - renewer.renewedAtWall) < renewDeadline
    )
  }

  function share(): Promise<boolean> {
    const at = clock.monotonic()
    if (latest === undefined || at - latest.at > SHARED_FOR)
      latest = { at, answer: renew(CONFIRM_TIMEOUT, over.signal) }
    return latest.answer
  }

  return {
    holds,
    leadingFor: () => (holds() ? Math.max(0, renewer.renewedAt - began) : 0),
    async confirm(signal) {
      // Not even tried when the term is over: a Lease that nobody took meanwhile could still be renewed.
      if (signal.aborted || !holds()) return false
      return (await unlessAborted(share(), signal)) && !signal.aborted && holds()
    },
    async end() {
      over.abort()
      await latest?.answer
    },
  }
}

/** Resolves with false as soon as the signal aborts; leaves no listener on it. */
async function unlessAborted(answer: Promise<boolean>, signal: AbortSignal): Promise<boolean> {
  const aborted = Promise.withResolvers<boolean>()
  const abort = () => aborted.resolve(false)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([answer, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
