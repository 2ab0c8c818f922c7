/** Clients that hold requests back: until there is a turn, or for good where another replica may lead. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { KubeClient } from './client.ts'
import type { Term } from './leader-election.ts'

/** As client-go's flow control has it: a bucket of `burst` requests, which fills at `qps` a second. */
export interface RateLimit {
  /** More than 0. */
  readonly qps: number
  /** At least 1. */
  readonly burst: number
}

/** The same client, but requests beyond the limit wait for their turn. */
export type RateLimiter = (client: KubeClient) => KubeClient

/**
 * One bucket for all clients that it is given: their requests wait for their turn, in order. The wait is no part of a
 * request's timeout; it ends when the request's signal aborts, which leaves the turn to the next.
 */
export function createRateLimiter({ qps, burst }: RateLimit, clock: Clock): RateLimiter {
  const interval = 1_000 / qps
  /** When the bucket would be full, monotonic. */
  let fullAt = Number.NEGATIVE_INFINITY
  let latest = Promise.resolve()

  async function take(before: Promise<void>, signal: AbortSignal): Promise<void> {
    await before
    if (signal.aborted) return
    const wait = fullAt - clock.monotonic() - (burst - 1) * interval
    if (wait > 0) await clock.sleep(wait, signal)
    if (!signal.aborted) fullAt = Math.max(fullAt, clock.monotonic()) + interval
  }

  async function turn(signal: AbortSignal): Promise<void> {
    latest = take(latest, signal)
    const aborted = Promise.withResolvers<void>()
    const abort = () => aborted.resolve()
    signal.addEventListener('abort', abort, { once: true })
    try {
      await Promise.race([latest, aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  return (client) => ({
    async request(request) {
      await turn(request.signal)
      return client.request(request)
    },
    async stream(request, silence) {
      await turn(request.signal)
      return client.stream(request, silence)
    },
    close: client.close,
  })
}

/**
 * A client for the leader that sends no write once another replica may lead. A process that was frozen would otherwise act
 * on data that waited for it before its timers tell it that its term is over.
 */
export function createLeaderOnlyClient(client: KubeClient, term: Pick<Term, 'holds'>): KubeClient {
  return {
    async request(request) {
      if (request.method !== 'GET' && !term.holds())
        throw new Error(
          `${request.method} ${request.path} was not sent: another replica may hold the Lease by now`,
        )
      return client.request(request)
    },
    stream: client.stream,
    close: client.close,
  }
}
