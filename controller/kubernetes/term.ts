import type { Clock } from '../../agent/shared/clock.ts'
import type { LeaseRenewer } from './lease-renewer.ts'

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

export interface TermOptions {
  readonly renewer: Pick<LeaseRenewer, 'holder' | 'renewedAt' | 'renewedAtWall'>
  readonly identity: string
  /** Milliseconds after the last renewal at which the term is over. */
  readonly renewDeadline: number
  /** One attempt to renew within `ms` milliseconds; resolves with whether it succeeded. Must not reject. */
  readonly renew: (ms: number, signal: AbortSignal) => Promise<boolean>
  readonly clock: Clock
}

export interface RunningTerm extends Term {
  /** Ends the term: nothing is confirmed any more. Resolves when no confirmation is under way. */
  end(): Promise<void>
}

interface Confirmation {
  /** Monotonic start time. */
  readonly at: number
  readonly answer: Promise<boolean>
}

/** For one confirmation, which takes up to three requests. */
const CONFIRM_TIMEOUT = 4_000
/** For how long calls share a confirmation, from its start: a hundred Nodes at once cost one write. */
const SHARED_FOR = 1_000

export function createTerm(options: TermOptions): RunningTerm {
  const { renewer, identity, renewDeadline, renew, clock } = options
  const began = clock.monotonic()
  const over = new AbortController()
  let latest: Confirmation | undefined

  function holds(): boolean {
    if (over.signal.aborted || renewer.holder !== identity) return false
    // The monotonic clock of a suspended machine stands still while a successor takes over. The wall clock may be set at any
    // time, but that can only stop writes until the next renewal.
    return (
      clock.monotonic() - renewer.renewedAt < renewDeadline &&
      Math.abs(clock.now() - renewer.renewedAtWall) < renewDeadline
    )
  }

  function share(): Confirmation {
    const at = clock.monotonic()
    if (latest === undefined || at - latest.at > SHARED_FOR)
      latest = { at, answer: renew(CONFIRM_TIMEOUT, over.signal) }
    return latest
  }

  return {
    holds,
    leadingFor: () => (holds() ? Math.max(0, renewer.renewedAt - began) : 0),
    async confirm(signal) {
      // Not even tried when the term is over: a Lease that nobody took meanwhile could still be renewed.
      if (signal.aborted || !holds()) return false
      return (await unlessAborted(share().answer, signal)) && !signal.aborted && holds()
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
