/** Work that is done at intervals. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { Task } from '../tasks.ts'

/** Does the work again and again, `interval` milliseconds apart, a tenth more or less so that many do not coincide. */
export function every(interval: number, work: Task, clock: Clock, random: () => number): Task {
  return async (signal) => {
    for (;;) {
      await clock.sleep(interval * (0.9 + 0.2 * random()), signal)
      if (signal.aborted) return
      await work(signal)
    }
  }
}
