import { type Backoff, createBackoff } from '../../agent/shared/backoff.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import { aborted } from './tasks.ts'
import { createTokenBuckets, type TokenBucketsOptions } from './token-buckets.ts'

/** What to do with a key after it was processed. */
export type ReconcileResult =
  /** Nothing, until the key is added again. */
  | 'done'
  /** Requeue it with backoff. */
  | 'requeue'
  /** Requeue it after this many milliseconds, unless it is added sooner. */
  | { readonly requeueAfter: number }

/** How processing a key ended: it will be requeued with backoff after `retry` and after `error`. */
export type WorkOutcome = 'done' | 'retry' | 'error'

/** For metrics; times in milliseconds. */
export interface WorkQueueObserver {
  /** A key waits for a worker. */
  added(): void
  /** It waited so long for one. */
  started(waited: number): void
  /** It was worked on for so long. The outcome is undefined where the end of the work may have cut it off. */
  ended(worked: number, outcome: WorkOutcome | undefined): void
  /** It will be requeued with backoff. */
  retried(): void
}

const DEFAULT_BACKOFF = { base: 1_000, max: 300_000 }
/** Initializing a Node takes some five reconciles, its own writes included; after that one a second will do. */
export const DEFAULT_RATE: TokenBucketsOptions = { burst: 10, interval: 1_000 }

/**
 * Milliseconds of work at a stretch. Where nothing is to be written nothing is waited for, and 10,000 Nodes in one go would keep
 * a leader from renewing its Lease.
 */
const STRETCH = 50

/** What a wait that is no longer needed ends with: the DOMException of an abort without a reason costs 50 µs for its stack. */
const CANCELED = 'canceled'

type Process = (key: string, signal: AbortSignal) => Promise<ReconcileResult>

/** A work queue: holds each key at most once, with a backoff and a rate limit for each key. */
export interface WorkQueue {
  add(key: string): void
  /** Adds the key only if there is news of it. For a key that is being processed, this is checked afterwards. */
  addIfNews(key: string): void
  /** Keys that wait for a worker or for their rate limit. A key in backoff does not count. */
  depth(): number
  /** Since when (monotonic) each key that is being processed is. */
  activeSince(): Iterable<number>
  /** Whether nothing is left to do until a key is added, or its backoff or time is over. */
  isIdle(): boolean
  /**
   * Works until the signal aborts, then waits for keys being processed. Must not be called twice.
   *
   * @param process handles one key; never runs twice at once for the same key
   */
  run(process: Process, signal: AbortSignal): Promise<void>
}

/** A key that becomes ready by itself after some time. */
interface Delay {
  readonly why: 'backoff' | 'time' | 'rate'
  readonly cancel: () => void
}

/**
 * A key that is added while it is being processed is processed once more afterwards, so no change is missed. A key that is
 * added during its backoff is taken at once. A key that is added again and again is processed at its rate, however many
 * additions there were, so a node that never stops changing does not delay the others.
 *
 * Slow keys wait for each other and for nobody else: while as many are processed as may be, the keys behind them go first.
 * They are not taken during their backoff, which would be cut short by each of their node's heartbeats.
 */
export function createWorkQueue(options: {
  /** Called with what processing a key threw, which counts as `requeue`. Not called for what an abort ends. */
  readonly onError: (key: string, error: unknown) => void
  /** Keys handled at once. */
  readonly concurrency: number
  /** Ceilings of the first and of the longest backoff, milliseconds; {@link DEFAULT_BACKOFF} by default. */
  readonly backoff?: { readonly base: number; readonly max: number }
  /** How often one key is handled at most; {@link DEFAULT_RATE} by default. */
  readonly rate?: TokenBucketsOptions
  /** Keys that must not hold up the others; by default there are none. */
  readonly slowLane?: {
    has(key: string): boolean
    /** How many of them are handled at once, of the queue's concurrency. */
    readonly concurrency: number
  }
  /** Keys that go before the others, however late they were added; by default there are none. */
  readonly isUrgent?: (key: string) => boolean
  /** Whether there is news of a key since it was processed last; by default there always is. */
  readonly isNews?: (key: string) => boolean
  /** Told of what happens to keys. */
  readonly observer?: WorkQueueObserver
  readonly clock: Clock
  readonly random: () => number
}): WorkQueue {
  const { clock, random, observer, isNews = () => true } = options
  /** Each with the monotonic time since when it waits. */
  const ready = new Map<string, number>()
  const active = new Map<
    string,
    { readonly since: number; readonly slow: boolean; readonly work: Promise<void> }
  >()
  /** Keys that were added while they are processed; false where only news of them counts. */
  const dirty = new Map<string, boolean>()
  const backoffs = new Map<string, Backoff>()
  const delays = new Map<string, Delay>()
  const buckets = createTokenBuckets(options.rate ?? DEFAULT_RATE)
  let wake: () => void = () => undefined
  let ended = false

  function add(key: string): void {
    if (active.has(key)) dirty.set(key, true)
    else if (!ready.has(key)) admit(key)
  }

  function addIfNews(key: string): void {
    if (active.has(key)) dirty.set(key, dirty.get(key) ?? false)
    else if (isNews(key)) add(key)
  }

  /** Makes a key ready, now or as soon as its rate allows. */
  function admit(key: string): void {
    const delay = delays.get(key)
    if (delay?.why === 'rate' || (delay?.why === 'backoff' && isSlow(key))) return
    delay?.cancel()
    const wait = buckets.take(key, clock.monotonic())
    if (wait > 0) {
      later(key, wait, 'rate')
      return
    }
    ready.set(key, clock.monotonic())
    observer?.added()
    wake()
  }

  function later(key: string, ms: number, why: Delay['why']): void {
    if (ended) return
    const cancel = new AbortController()
    const delay: Delay = { why, cancel: () => cancel.abort(CANCELED) }
    delays.set(key, delay)
    void clock.sleep(ms, cancel.signal).then(() => {
      if (delays.get(key) === delay) delays.delete(key)
      if (!cancel.signal.aborted) admit(key)
    })
  }

  function isSlow(key: string): boolean {
    return options.slowLane?.has(key) === true
  }

  /** The first that may be processed now. */
  function next(): { readonly key: string; readonly slow: boolean; readonly addedAt: number } | undefined {
    if (active.size >= options.concurrency) return undefined
    const slowOnes = [...active.values()].filter(({ slow }) => slow).length
    const laneIsFull = slowOnes >= (options.slowLane?.concurrency ?? 0)
    let first: ReturnType<typeof next>
    for (const [key, addedAt] of ready) {
      const slow = isSlow(key)
      if (slow && laneIsFull) continue
      first ??= { key, slow, addedAt }
      if (options.isUrgent === undefined) break
      if (options.isUrgent(key)) return { key, slow, addedAt }
    }
    return first
  }

  async function work(key: string, process: Process, signal: AbortSignal): Promise<void> {
    const since = clock.monotonic()
    let result: ReconcileResult
    let outcome: WorkOutcome
    try {
      result = await process(key, signal)
      outcome = result === 'requeue' ? 'retry' : 'done'
    } catch (error) {
      if (!signal.aborted) options.onError(key, error)
      result = 'requeue'
      outcome = 'error'
    }
    active.delete(key)
    observer?.ended(clock.monotonic() - since, signal.aborted ? undefined : outcome)
    if (outcome === 'done') backoffs.delete(key)
    const added = dirty.get(key)
    dirty.delete(key)
    const changed = added === true || (added === false && isNews(key))
    if (changed && !(result === 'requeue' && isSlow(key))) admit(key)
    else if (typeof result === 'object') later(key, result.requeueAfter, 'time')
    else if (result === 'requeue') {
      const backoff = backoffs.get(key) ?? createBackoff({ ...(options.backoff ?? DEFAULT_BACKOFF), random })
      backoffs.set(key, backoff)
      observer?.retried()
      later(key, backoff.next(), 'backoff')
    }
    wake()
  }

  function depth(): number {
    let limited = 0
    for (const { why } of delays.values()) if (why === 'rate') limited++
    return ready.size + limited
  }

  return {
    add,
    addIfNews,
    depth,
    isIdle: () => active.size === 0 && depth() === 0,
    activeSince: () => [...active.values()].map(({ since }) => since),
    async run(process, signal) {
      void aborted(signal).then(() => wake())
      let rested = clock.monotonic()
      while (!signal.aborted) {
        if (clock.monotonic() - rested >= STRETCH) {
          await clock.sleep(0, signal)
          rested = clock.monotonic()
        }
        for (let due = next(); due !== undefined; due = next()) {
          const { key, slow, addedAt } = due
          ready.delete(key)
          const since = clock.monotonic()
          observer?.started(since - addedAt)
          active.set(key, { since, slow, work: work(key, process, signal) })
        }
        await new Promise<void>((resolve) => {
          wake = resolve
          if (signal.aborted || next() !== undefined) resolve()
        })
      }
      ended = true
      for (const { cancel } of delays.values()) cancel()
      await Promise.all([...active.values()].map((each) => each.work))
    },
  }
}
