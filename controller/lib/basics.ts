import type { Clock } from '../../agent/shared/clock.ts'
import type { Logger } from './log.ts'

/** What only main.ts has, and passes on to all that waits, draws lots or logs. */
export interface Basics {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}
