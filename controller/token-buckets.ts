export interface TokenBucketsOptions {
  /** What a key may take at once when it has been quiet. */
  readonly burst: number
  /** Milliseconds after which one more may be taken. */
  readonly interval: number
}

/** A token bucket for each key. A full one is not remembered, so memory follows the keys that were busy lately. */
export interface TokenBuckets {
  /** Takes a token and returns 0, or returns the milliseconds until there is one. `now` must never go back. */
  take(key: string, now: number): number
  /** Buckets that are remembered. */
  readonly size: number
}

/** Below this there is nothing to be won by forgetting. */
const MIN_SWEEP = 1024

export function createTokenBuckets({ burst, interval }: TokenBucketsOptions): TokenBuckets {
  /** When each bucket will be full again: all there is to know of it. */
  const fullAt = new Map<string, number>()
  let sweepAt = MIN_SWEEP

  /** Of all at once whenever their number has doubled, which costs each take next to nothing. */
  function sweep(now: number): void {
    for (const [key, time] of fullAt) if (time <= now) fullAt.delete(key)
    sweepAt = Math.max(MIN_SWEEP, fullAt.size * 2)
  }

  return {
    take(key, now) {
      if (fullAt.size >= sweepAt) sweep(now)
      const next = Math.max(now, fullAt.get(key) ?? now) + interval
      const wait = next - now - burst * interval
      if (wait > 0) return wait
      fullAt.set(key, next)
      return 0
    },
    get size() {
      return fullAt.size
    },
  }
}
