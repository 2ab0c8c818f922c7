/** Collects triggers into runs of work: a lone one is served soon, a crowd together. */
import type { Clock } from '../../clock.ts'

export interface Debounce {
  trigger(): void
  /** Works after each burst of triggers until the signal aborts. Throws what the work throws. */
  run(work: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>
}

export interface DebounceOptions {
  /** Milliseconds without a trigger that end a burst. */
  readonly quiet: number
  /** Milliseconds after which a burst is served all the same. */
  readonly max: number
  readonly clock: Clock
}

export function createDebounce({ quiet, max, clock }: DebounceOptions): Debounce {
  let triggers = 0
  let served = 0
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
        await work(signal)
      }
    },
  }
}
