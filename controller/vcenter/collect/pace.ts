/** How soon work is done again: after triggers, and after an answer to a poll. */
import type { Clock } from '../../../agent/shared/clock.ts'
import { BrokenAnswerError, DeadlineError, SoapFault, VCenterError } from '../wire/errors.ts'

/** The outcome of a run. One that had little to do does not delay the next. */
export type RunOutcome = 'done' | 'little'

/** Collects triggers into runs: a single trigger runs soon, a stream of triggers in few runs. */
export interface Debounce {
  trigger(): void
  /** Works after each burst of triggers until the signal aborts. Throws what the work throws. */
  run(work: (signal: AbortSignal) => Promise<RunOutcome>, signal: AbortSignal): Promise<void>
}

/** Milliseconds. */
export interface Pace {
  /** A burst ends when there was no trigger for this long; checked in consecutive intervals. */
  readonly quiet: number
  /** A burst that does not end is run after this time. */
  readonly max: number
  /** Least time between the starts of two runs. */
  readonly spacing: number
}

export function createDebounce({ quiet, max, spacing }: Pace, clock: Clock): Debounce {
  let triggers = 0
  let served = 0
  let lastRun = -Infinity
  let wake = () => {}

  async function triggered(signal: AbortSignal): Promise<void> {
    if (triggers > served || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const onAbort = () => resolve()
    wake = resolve
    signal.addEventListener('abort', onAbort, { once: true })
    await promise
    signal.removeEventListener('abort', onAbort)
  }

  async function settled(signal: AbortSignal): Promise<void> {
    const start = clock.monotonic()
    const spaced = lastRun + spacing - start
    if (spaced > 0) await clock.sleep(spaced, signal)
    for (;;) {
      const before = triggers
      const left = max - (clock.monotonic() - start)
      await clock.sleep(Math.max(0, Math.min(quiet, left)), signal)
      if (signal.aborted || left <= quiet || triggers === before) return
    }
  }

  return {
    trigger() {
      triggers++
      wake()
    },
    async run(work, signal) {
      while (!signal.aborted) {
        await triggered(signal)
        await settled(signal)
        if (signal.aborted) return
        served = triggers
        const before = lastRun
        lastRun = clock.monotonic()
        if ((await work(signal)) === 'little') lastRun = before
      }
    },
  }
}

/** Milliseconds before the next poll while answers are many, so that a guest that keeps changing its claim costs little. */
const PAUSE = 250
/** How many answers are followed by the next poll at once; one more is allowed for each pause's length that passes. */
const BURST = 20
/** How many truncated answers in a row are continued at once: ten thousand VMs enter in a hundred. */
const MAX_AT_ONCE = 100
/** Least time between the starts of two polls after two empty answers, which may come immediately. */
const EMPTY_ANSWER_PAUSE = 1_000

/**
 * How long to wait after an answer with this number of objects, `truncated` where there are more, so that no server can make us
 * poll constantly. While answers are few there is no wait, because it would delay the next change.
 */
export function createPollPace(
  clock: Clock,
): (answer: { readonly truncated: boolean; readonly objects: number } | undefined, took: number) => number {
  let emptyBefore = false
  let atOnce = 0
  let credit = BURST
  let creditedAt = clock.monotonic()
  return (answer, took) => {
    const empty = answer === undefined || answer.objects === 0
    const again = empty && emptyBefore
    emptyBefore = empty
    const now = clock.monotonic()
    credit = Math.min(BURST, credit + (now - creditedAt) / PAUSE)
    creditedAt = now
    if (again) return Math.max(0, EMPTY_ANSWER_PAUSE - took)
    if (answer?.truncated !== true) atOnce = 0
    else if (!empty && ++atOnce < MAX_AT_ONCE) return 0
    const pause = credit < 1 ? PAUSE : 0
    // Waiting earns allowance too.
    credit -= 1
    return pause
  }
}

/** Milliseconds. A poll that ends sooner was not ended for its silence. */
const SHORTEST_LIMIT = 10_000
/** The share of a limit that later polls wait, once the limit is known. */
const SHARE = 0.75
/** Polls in a row without an answer, after which changes are no longer followed. */
const MOST_CUTS = 3

export interface PollWait {
  /** Milliseconds; whole seconds. */
  readonly milliseconds: () => number
  /** To be called after a poll that was answered. */
  answered(): void
  /**
   * Whether a poll that failed like this, after `took` milliseconds, was cut off by something in between, so that the next one
   * may continue from the same version. Later polls stay within a limit that shows: by HTTP status 408 or 504, or when the
   * next poll is cut off as well.
   */
  isCut(error: unknown, took: number): boolean
}

export function createPollWait({ pollWait }: { readonly pollWait: number }): PollWait {
  let wait = pollWait
  let cuts = 0
  return {
    milliseconds: () => wait,
    answered() {
      cuts = 0
    },
    isCut(error, took) {
      if (!(error instanceof VCenterError) || !ENDED.has(error.reason)) return false
      // After such a silence, or half an answer, what has changed meanwhile must be read.
      if (NOT_CUT.some((kind) => error instanceof kind)) return false
      cuts++
      const tells = error.reason === 'TimedOut' || cuts > 1
      if (tells && took >= SHORTEST_LIMIT) wait = Math.min(wait, Math.floor((took * SHARE) / 1_000) * 1_000)
      return cuts <= MOST_CUTS
    },
  }
}

const NOT_CUT = [SoapFault, DeadlineError, BrokenAnswerError]
const ENDED: ReadonlySet<string> = new Set(['Unreachable', 'Unavailable', 'TimedOut'])
