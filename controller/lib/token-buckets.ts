export interface TokenBucketsOptions {
  /** What a key may take at once when it has been quiet. */
  readonly burst: number
  /** Milliseconds after which one more may be taken. */
  readonly interval: number
}

/** Below this number of buckets it is not worth forgetting any. */
const MIN_SWEEP = 1024

/** A token bucket for each key. Full buckets are not kept, so memory depends on the recently busy keys only. */
export function createTokenBuckets({ burst, interval }: TokenBucketsOptions) {
  /** When each bucket will be full again, which is all that must be known. */
  const fullAt = new Map<string, number>()
  let sweepAt = MIN_SWEEP

  /** Of all at once whenever their number has doubled, which costs each take next to nothing. */
  function sweep(now: number): void {
    for (const [key, time] of fullAt) if (time <= now) fullAt.delete(key)
    sweepAt = Math.max(MIN_SWEEP, fullAt.size * 2)
  }

  return {
    /** Takes a token and returns 0, or returns the milliseconds until there is one. `now` must never go back. */
    take(key: string, now: number): number {
      if (fullAt.size >= sweepAt) sweep(now)
      const next = Math.max(now, fullAt.get(key) ?? now) + interval
      const wait = next - now - burst * interval
      if (wait > 0) return wait
      fullAt.set(key, next)
      return 0
    },
    /** Buckets that are remembered. */
    get size() {
      return fullAt.size
    },
  }
}
