/** How soon vCenter is polled again. */
import type { Clock } from '../../../agent/shared/clock.ts'

/** Milliseconds before the next poll while answers are many, so that a guest that keeps changing its claim costs little. */
const PAUSE = 250
/** How many answers are followed by the next poll at once; one more is allowed for each pause's length that passes. */
const BURST = 20
/** How many truncated answers in a row are continued at once: ten thousand VMs enter in a hundred. */
const MAX_AT_ONCE = 100
/** Least time between the starts of two polls after two empty answers, which may come immediately. */
const EMPTY_ANSWER_PAUSE = 1_000

/** As much of an answer as decides it. */
export interface PollAnswer {
  /** There is more. */
  readonly truncated: boolean
  /** How many objects it tells of. */
  readonly objects: number
}

/**
 * How long to wait after an answer, so that no server can make us poll constantly. While answers are few there is no wait,
 * because it would delay the next change.
 */
export function createPollPace(clock: Clock): (answer: PollAnswer | undefined, took: number) => number {
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
