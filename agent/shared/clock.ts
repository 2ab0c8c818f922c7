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
  // By hand: the promise of node:timers/promises makes an error with a stack for each sleep that is cut short.
  sleep(ms, signal) {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve()
      const end = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      signal.addEventListener('abort', end)
    })
  },
}
