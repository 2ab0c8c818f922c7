/** Times of the ending. What is minutes in production is seconds here, by configuration alone. */
import type { ControllerProcessOptions } from '../../world/controller.ts'

const ABSENT_SECONDS = 3
/** Milliseconds. */
export const ABSENT_FOR = ABSENT_SECONDS * 1_000

export const LIFECYCLE = {
  absentFor: `${ABSENT_SECONDS}s`,
  confirmations: 3,
  leaderAge: '2s',
} as const satisfies ControllerProcessOptions['lifecycle']

/** What a deletion may take beyond that. */
export const DELETED_WITHIN = ABSENT_FOR + 10_000
/** From power-off to taint: a second, and then some for a machine that has other things to do. */
export const TAINTED_WITHIN = 3_000
/** Without privileges: more than twice what a deletion takes. */
export const HOLD = 2.5 * ABSENT_FOR
