import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'

/** A clock whose hands the test turns. */
export interface HandClock extends Clock {
  /** Goes on by `ms`, and wakes each sleeper at its time, in order. */
  advance(ms: number): Promise<void>
}

export function handClock(): HandClock {
  let time = 0
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>()
  return {
    now: () => time,
    monotonic: () => time,
    sleep(ms, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const sleeper = {
          at: time + ms,
          wake() {
            sleepers.delete(sleeper)
            resolve()
          },
        }
        sleepers.add(sleeper)
        signal.addEventListener('abort', sleeper.wake, { once: true })
      })
    },
    async advance(ms) {
      const end = time + ms
      for (;;) {
        await turn()
        const next = [...sleepers].sort((a, b) => a.at - b.at)[0]
        if (next === undefined || next.at > end) break
        time = Math.max(time, next.at)
        next.wake()
      }
      time = end
    },
  }
}
