import { setTimeout as delay } from 'node:timers/promises'

/** The only source of time. Tests pass one that they advance by hand. */
export interface Clock {
  /** Milliseconds since the epoch, for timestamps. */
  now(): number
  /** Milliseconds that never go back, for durations. */
  monotonic(): number
  /** Resolves after `ms`, or as soon as the signal aborts; the caller checks the signal. Never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    if (signal.aborted) return
    // delay() rejects only when the signal aborts, which is one of the two ways this ends.
    await delay(ms, undefined, { signal }).catch(() => undefined)
  },
}
