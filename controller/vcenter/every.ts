/** Work that is done at intervals. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { Task } from '../tasks.ts'

/** Repeats the work every `interval` milliseconds, give or take a tenth, so that several do not coincide. */
export function every(interval: number, work: Task, clock: Clock, random: () => number): Task {
  return async (signal) => {
    for (;;) {
      await clock.sleep(interval * (0.9 + 0.2 * random()), signal)
      if (signal.aborted) return
      await work(signal)
    }
  }
}
