/** Collects triggers into runs of work: a lone one is served soon, a stream in few runs. */
import type { Clock } from '../../clock.ts'

export interface Debounce {
  trigger(): void
  /** Works after each burst of triggers until the signal aborts. Throws what the work throws. */
  run(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>
}

/** Milliseconds. */
export interface Pace {
  /** A burst ends with a stretch of this length without a trigger; stretches are looked at end to end. */
  readonly quiet: number
  /** A burst is served after this time all the same. */
  readonly max: number
  /** Least time from the beginning of one run to that of the next. */
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
    // What came while the last run was recent has waited long enough after that.
    if (spaced > 0) return await clock.sleep(spaced, signal)
    for (;;) {
      const before = triggers
      const left = max - (clock.monotonic() - start)
      await clock.sleep(Math.max(0, Math.min(quiet, left)), signal)
      if (signal.aborted || triggers === before || left <= quiet) return
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
        lastRun = clock.monotonic()
        await work(signal)
      }
    },
  }
}
