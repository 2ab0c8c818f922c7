import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../clock.ts'

/** A clock that stands still until its hands are turned. */
export interface HandClock extends Clock {
  /** Turns the hands forward, stopping at each sleeper whose time has come so that it can act and sleep again. */
  turn(ms: number): Promise<void>
  /** How many sleep. */
  readonly sleepers: number
}

const EPOCH = Date.parse('2026-01-01T00:00:00Z')

export function createHandClock(): HandClock {
  let time = 0
  const sleeping = new Set<{ until: number; wake: () => void }>()

  /** Lets everything run that can run without time passing. */
  async function settle(): Promise<void> {
    for (let i = 0; i < 10; i++) await nextTurn()
  }

  return {
    now: () => EPOCH + time,
    monotonic: () => time,
    sleep(ms, signal) {
      if (signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const sleeper = {
          until: time + ms,
          wake() {
            sleeping.delete(sleeper)
            signal.removeEventListener('abort', sleeper.wake)
            resolve()
          },
        }
        sleeping.add(sleeper)
        signal.addEventListener('abort', sleeper.wake, { once: true })
      })
    },
    get sleepers() {
      return sleeping.size
    },
    async turn(ms) {
      const target = time + ms
      await settle()
      for (;;) {
        const [first] = [...sleeping].sort((a, b) => a.until - b.until)
        if (!first || first.until > target) break
        time = Math.max(time, first.until)
        first.wake()
        await settle()
      }
      time = target
      await settle()
    },
  }
}
