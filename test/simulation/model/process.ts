import type { Clock } from '../../../agent/shared/clock.ts'
import type { Random } from '../random.ts'
import type { Timeline } from '../timeline.ts'

/** A process: its clocks, and whether it runs. All that reaches it goes through {@link Process.deliver}. */
export interface Process extends Clock {
  readonly name: string
  readonly state: 'runs' | 'frozen' | 'suspended' | 'dead'
  /** Milliseconds by which the clock on its wall is ahead. */
  readonly ahead: number
  /** Its way to the API server. */
  readonly line: NetworkLine
  readonly random: Random
  /** When it last went on after it was stopped, milliseconds; -Infinity where it never was. */
  readonly awakeSince: number
  /** Lets the process see something, when it runs again at the latest, in any order. */
  deliver(act: () => void): void
  /** Stops it; `suspended` stops its monotonic clock too. */
  stop(how: 'frozen' | 'suspended'): void
  wake(): void
  /** Nothing reaches it any more. */
  kill(): void
  /** Sets the clock on its wall, milliseconds ahead of the true time. */
  setWall(ahead: number): void
}

export interface NetworkLine {
  /** Nothing comes through. */
  cut: boolean
  /** Requests arrive, answers are lost. */
  deaf: boolean
  /** Milliseconds by which watches are late. */
  lag: number
}

/** Milliseconds that each sleep takes at least: whoever sleeps for what is left must get there. */
const LEAST = 0.001
const EPOCH = Date.parse('2026-01-01T00:00:00Z')

export function createProcess(name: string, timeline: Timeline, random: Random): Process {
  let state: Process['state'] = 'runs'
  let held: (() => void)[] = []
  /** True time minus monotonic time. */
  let slept = 0
  let suspendedAt = 0
  let ahead = 0
  let awakeSince = -Infinity
  const monotonic = (): number => (state === 'suspended' ? suspendedAt : timeline.now) - slept

  function deliver(act: () => void): void {
    if (state === 'runs') act()
    else if (state !== 'dead') held.push(act)
  }

  return {
    name,
    line: { cut: false, deaf: false, lag: 0 },
    random,
    get state() {
      return state
    },
    get ahead() {
      return ahead
    },
    get awakeSince() {
      return awakeSince
    },
    deliver,
    stop(how) {
      if (state !== 'runs') return
      if (how === 'suspended') suspendedAt = timeline.now
      state = how
    },
    wake() {
      if (state !== 'frozen' && state !== 'suspended') return
      if (state === 'suspended') slept += timeline.now - suspendedAt
      state = 'runs'
      awakeSince = timeline.now
      const waiting = held
      held = []
      for (const act of waiting) {
        timeline.after(random.between(0, 5), `${name} catches up`, () => deliver(act))
      }
    },
    kill() {
      state = 'dead'
      held = []
    },
    setWall(by) {
      ahead = by
    },
    now: () => EPOCH + timeline.now + ahead,
    monotonic,
    sleep(ms, signal) {
      if (signal.aborted) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      const due = monotonic() + ms
      let appointment = arm()

      function arm() {
        return timeline.after(Math.max(LEAST, due - monotonic()), `${name} timer`, () => deliver(fire))
      }
      function fire(): void {
        // A machine that was suspended has time left.
        if (monotonic() < due) appointment = arm()
        else finish()
      }
      function finish(): void {
        appointment.cancel()
        signal.removeEventListener('abort', finish)
        resolve()
      }
      signal.addEventListener('abort', finish, { once: true })
      return promise
    },
  }
}

/** The true time in words, as the machines with good clocks write it. */
export function wallTime(ms: number): string {
  return new Date(EPOCH + ms).toISOString().replace(/\.\d+Z$/, 'Z')
}
