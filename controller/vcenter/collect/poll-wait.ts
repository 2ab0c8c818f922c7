/** How long a poll may be silent: less than any proxy between us and vCenter allows. */
import type { Timings } from '../timings.ts'
import { BrokenAnswerError, DeadlineError, SoapFault, VCenterError } from '../wire/errors.ts'

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
   * may continue from the same version. Later polls stay within a limit that shows: by HTTP status 504, or when the next poll
   * is cut off as well.
   */
  isCut(error: unknown, took: number): boolean
}

export function createPollWait({ pollWait }: Pick<Timings, 'pollWait'>): PollWait {
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
