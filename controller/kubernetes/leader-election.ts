import type { Clock } from '../../agent/shared/clock.ts'
import type { Logger } from '../lib/log.ts'
import { createDeadline } from './deadline.ts'
import type { LeaseStore } from './lease.ts'
import { createLeaseRenewer, type LeaseRenewer, type LeaseRenewerOptions } from './lease-renewer.ts'
import { createTerm, type Term } from './term.ts'

export type { Term } from './term.ts'

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

export interface LeaderElectionOptions {
  readonly lease: LeaseStore
  /** Unique to this process: the next process on the same host has another one. */
  readonly identity: string
  /** {@link DEFAULT_TIMING} by default. */
  readonly timing?: ElectionTiming
  /** See {@link LeaseRenewerOptions.onSlowPath}. */
  readonly onSlowPath?: () => void
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

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
  status(): LeadershipStatus
}

export interface LeadershipStatus {
  /** Whether lead() is running. */
  readonly leading: boolean
  /** Who held the Lease when it was last read; empty for nobody. */
  readonly holder: string
  /** For a liveness probe: says so if this process still leads although it should long have stopped. */
  readonly problem: string | undefined
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
export function createLeaderElection(options: LeaderElectionOptions): LeaderElection {
  const { clock, random, logger, identity, timing = DEFAULT_TIMING } = options
  const { leaseDuration, renewDeadline, retryPeriod } = timing
  const renewer = createLeaseRenewer({ ...options, durationSeconds: Math.floor(leaseDuration / 1000) })
  let leading = false
  let current: Term | undefined

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
      return await step(deadline.signal)
    } catch (error) {
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
    status() {
      const late = clock.monotonic() - renewer.renewedAt - leaseDuration
      const stuck = leading && late > STUCK_AFTER
      const problem = stuck
        ? `still leads although its Lease ended ${Math.round(late / 1000)} s ago: it must be restarted`
        : undefined
      return { leading, holder: renewer.holder, problem }
    },
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
