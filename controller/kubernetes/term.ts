import type { Clock } from '../../agent/shared/clock.ts'
import type { LeaseCandidate } from './lease-candidate.ts'

/** One unbroken time as leader, for the work that must be sure of it. */
export interface Term {
  /**
   * Milliseconds since this replica became leader, counted up to the last renewal that went through: a time in which
   * it was frozen, cut off or late never counts. 0 when the term is over.
   */
  leadingFor(): number
  /** Whether no other replica can lead yet, by both of this process's clocks. Costs nothing. */
  holds(): boolean
  /**
   * Renews the Lease now and says whether that went through and is still ours: asked right before what cannot be
   * undone. False as well when no answer came in time, when the term is over, and when the signal aborts; never throws.
   * Whoever asks within a second of another shares its answer.
   */
  confirm(signal: AbortSignal): Promise<boolean>
}

export interface TermOptions {
  readonly candidate: Pick<LeaseCandidate, 'holder' | 'renewedAt' | 'renewedAtWall'>
  readonly identity: string
  /** Milliseconds after the last renewal at which the term is over. */
  readonly renewDeadline: number
  /** One attempt to renew within so many milliseconds; resolves with whether it went through. Must not reject. */
  readonly renew: (ms: number, signal: AbortSignal) => Promise<boolean>
  readonly clock: Clock
}

export interface RunningTerm extends Term {
  /** The term is over: nothing is confirmed any more. Resolves when no confirmation is under way. */
  end(): Promise<void>
}

interface Confirmation {
  /** Monotonic time of its start. */
  readonly at: number
  readonly answer: Promise<boolean>
}

/** Of one confirmation, which is up to three requests. */
const CONFIRM_TIMEOUT = 4_000
/** How long after its start a confirmation answers those who ask: a hundred Nodes at once are one write. */
const SHARED_FOR = 1_000

export function createTerm(options: TermOptions): RunningTerm {
  const { candidate, identity, renewDeadline, renew, clock } = options
  const began = clock.monotonic()
  const over = new AbortController()
  let latest: Confirmation | undefined

  function holds(): boolean {
    if (over.signal.aborted || candidate.holder !== identity) return false
    // A suspended machine's monotonic clock stands still while its successor takes over. The other clock, which may be set
    // at any time, can only stop writes until the next renewal.
    return (
      clock.monotonic() - candidate.renewedAt < renewDeadline &&
      Math.abs(clock.now() - candidate.renewedAtWall) < renewDeadline
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
    leadingFor: () => (holds() ? Math.max(0, candidate.renewedAt - began) : 0),
    async confirm(signal) {
      // Not even tried when the term is over: a Lease that nobody took meanwhile would let itself be renewed.
      if (signal.aborted || !holds()) return false
      return (await unlessAborted(share().answer, signal)) && !signal.aborted && holds()
    },
    async end() {
      over.abort()
      await latest?.answer
    },
  }
}

/** False at once when the signal aborts; leaves nothing behind at it. */
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
