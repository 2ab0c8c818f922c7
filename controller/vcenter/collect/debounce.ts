/** Collects triggers into runs of work: a lone one is served soon, a stream in few runs. */
import type { Clock } from '../../../agent/shared/clock.ts'

/** What a run has come to: one that found nothing to do leaves the next run to be served as if it had not been. */
export type RunOutcome = 'done' | 'idle'

export interface Debounce {
  trigger(): void
  /** Works after each burst of triggers until the signal aborts. Throws what the work throws. */
  run(work: (signal: AbortSignal) => Promise<RunOutcome>, signal: AbortSignal): Promise<void>
}

/** Milliseconds. */
export interface Pace {
  /** A burst ends with a stretch of this length without a trigger; stretches are looked at end to end. */
  readonly quiet: number
  /** A burst is served after this time all the same. */
  readonly max: number
  /** A burst that does not end is served after twice the time of the run before, up to this; `max` unless given. */
  readonly longest?: number
  /** Least time from the beginning of one run to that of the next. */
  readonly spacing: number
}

export function createDebounce({ quiet, max, longest = max, spacing }: Pace, clock: Clock): Debounce {
  let triggers = 0
  let served = 0
  let lastRun = -Infinity
  let patience = max
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
    if (spaced > 0) await clock.sleep(spaced, signal)
    for (;;) {
      const before = triggers
      const left = patience - (clock.monotonic() - start)
      await clock.sleep(Math.max(0, Math.min(quiet, left)), signal)
      if (signal.aborted) return
      if (left <= quiet) {
        patience = Math.min(longest, 2 * patience)
        return
      }
      if (triggers === before) {
        patience = max
        return
      }
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
        const before = lastRun
        lastRun = clock.monotonic()
        if ((await work(signal)) === 'idle') lastRun = before
      }
    },
  }
}
