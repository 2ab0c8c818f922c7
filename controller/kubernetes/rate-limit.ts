import type { Clock } from '../../agent/shared/clock.ts'
import type { KubeClient } from './client.ts'

/** As client-go's flow control has it: a bucket of `burst` requests, which fills at `qps` a second. */
export interface RateLimit {
  /** More than 0. */
  readonly qps: number
  /** At least 1. */
  readonly burst: number
}

/**
 * The same client, but requests beyond the limit wait for their turn, in order. The wait is no part of a request's timeout; it
 * ends when the request's signal aborts.
 */
export function createLimitedClient(client: KubeClient, { qps, burst }: RateLimit, clock: Clock): KubeClient {
  const interval = 1_000 / qps
  /** When the bucket would be full, monotonic. */
  let fullAt = Number.NEGATIVE_INFINITY

  async function turn(signal: AbortSignal): Promise<void> {
    const now = clock.monotonic()
    fullAt = Math.max(fullAt, now) + interval
    const wait = fullAt - now - burst * interval
    if (wait > 0) await clock.sleep(wait, signal)
  }

  return {
    async request(request) {
      await turn(request.signal)
      return client.request(request)
    },
    async stream(request, silence) {
      await turn(request.signal)
      return client.stream(request, silence)
    },
    close: client.close,
  }
}
