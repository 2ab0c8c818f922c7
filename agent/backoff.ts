/** Waits between attempts, which never give up. */
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

/** Waits between half a ceiling and the ceiling, which doubles up to `max`: a rack that boots at once spreads out. */
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
