/** Collects triggers into runs: a single trigger runs soon, a stream of triggers in few runs. */
import type { Clock } from '../../../agent/shared/clock.ts'

/** The outcome of a run. A run that found nothing to do does not delay the next one. */
export type RunOutcome = 'done' | 'idle'

export interface Debounce {
  trigger(): void
  /** Works after each burst of triggers until the signal aborts. Throws what the work throws. */
  run(work: (signal: AbortSignal) => Promise<RunOutcome>, signal: AbortSignal): Promise<void>
}

/** Milliseconds. */
export interface Pace {
  /** A burst ends when there was no trigger for this long; checked in consecutive intervals. */
  readonly quiet: number
  /** A burst that does not end is run after this time. */
  readonly max: number
  /** That time doubles for each such run in a row, up to this; `max` by default. */
  readonly longest?: number
  /** Least time between the starts of two runs. */
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
