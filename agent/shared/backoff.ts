/** Exponential backoff with jitter. It never gives up. */
export interface Backoff {
  /** Milliseconds to wait before the next attempt. */
  next(): number
  /** To be called after a success. */
  reset(): void
}

export interface BackoffOptions {
  /** Ceiling of the first wait, milliseconds. */
  readonly base: number
  /** Highest ceiling, milliseconds. */
  readonly max: number
  /** Uniform in [0, 1). */
  readonly random: () => number
}

/**
 * Each wait is between half the ceiling and the ceiling, so that many clients, such as a rack that boots at once, spread
 * out and no wait is close to zero. The ceiling doubles with each call, up to `max`.
 */
export function createBackoff({ base, max, random }: BackoffOptions): Backoff {
  let attempts = 0
  return {
    next() {
      const ceiling = Math.min(max, base * 2 ** Math.min(attempts, 30))
      attempts++
      return ceiling / 2 + (random() * ceiling) / 2
    },
    reset() {
      attempts = 0
    },
  }
}
