import { hash } from 'node:crypto'
import { ApiError } from '../../agent/shared/api-error.ts'
import { createBackoff } from '../../agent/shared/backoff.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import { timestamp } from '../../agent/shared/node-report.ts'
import { printable } from '../../agent/shared/printable.ts'
import { messageOf } from '../../agent/shared/result.ts'
import type { Logger } from '../lib/log.ts'
import { aborted } from '../lib/tasks.ts'
import { createTokenBuckets } from '../lib/token-buckets.ts'
import { hasStatus } from './api-error.ts'
import type { KubeClient } from './client.ts'

export interface EventRecorder {
  /**
   * Queues an event; never waits and never throws. The same event within ten minutes raises the count instead. An event is
   * dropped if there were too many about its object lately.
   */
  event(facts: EventDetails): void
  /** Writes queued events, one request at a time, until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when all events are written, or after `ms` milliseconds. */
  flush(ms: number): Promise<void>
  /** Since the start, for metrics: successful writes and dropped occurrences. */
  counts(): { readonly written: number; readonly dropped: number }
}

/** Number of series kept: four each for a thousand nodes. */
const MAX_SERIES = 4096
/** An event that recurs after this many milliseconds starts a new series. */
const SERIES_WINDOW = 600_000
/** For each object, as in client-go's spam filter (`EventSourceObjectSpamFilter`). */
const PER_OBJECT = { burst: 25, interval: 300_000 }
const BACKOFF = { base: 1_000, max: 30_000 }

/** Records the Events that people see in `kubectl describe node`. Losing one never stops the work. */
export function createEventRecorder(
  options: Parameters<typeof createEventWriter>[0] & { readonly clock: Clock; readonly logger: Logger },
): EventRecorder {
  const { clock, random, logger } = options
  const writer = createEventWriter(options)
  /** In order of their last occurrence. */
  const series = new Map<string, EventSeries>()
  /** What is to be written. The facts are dropped after that: whoever reports the event again brings them. */
  const queue = new Map<EventSeries, EventDetails>()
  const buckets = createTokenBuckets(PER_OBJECT)
  const backoff = createBackoff({ ...BACKOFF, random })
  const complaints = new Set<string>()
  let wake = () => {}
  let drained: (() => void)[] = []
  let written = 0
  let dropped = 0

  /** Forgets the series that are over: an event that recurs starts a new one. */
  function forgetOld(now: number): void {
    for (const [key, item] of series) {
      if (now - item.last <= SERIES_WINDOW) return
      if (!queue.has(item)) series.delete(key)
    }
  }

  /** Makes room for one more series; false when even the oldest is not written yet. */
  function makeRoom(): boolean {
    if (series.size < MAX_SERIES) return true
    for (const [key, oldest] of series) {
      if (queue.has(oldest)) return false
      return series.delete(key)
    }
    return true
  }

  function complain(cause: string, message: string): void {
    if (complaints.has(cause)) return
    complaints.add(cause)
    logger.warn({ cause: message }, 'event not written')
  }

  function giveUp(item: EventSeries): void {
    dropped += item.pending
    item.pending = 0
    queue.delete(item)
  }

  /** Writes one series and moves it to the end; resolves with the milliseconds to wait before the next attempt. */
  async function write(item: EventSeries, facts: EventDetails, signal: AbortSignal): Promise<number> {
    const count = item.pending
    queue.delete(item)
    queue.set(item, facts)
    try {
      await writer.write(item, facts, count, signal)
    } catch (error) {
      if (signal.aborted) return 0
      const said = messageOf(error)
      complain(error instanceof ApiError ? `${error.status} ${error.reason}` : 'no answer', said)
      if (mayPass(error)) return backoff.next()
      giveUp(item)
      return 0
    }
    item.pending -= count
    if (item.pending === 0) queue.delete(item)
    written++
    backoff.reset()
    complaints.clear()
    return 0
  }

  return {
    event({ regarding, type, reason, message, component }) {
      const object = keyOf(regarding.kind, regarding.name, regarding.uid)
      if (buckets.take(object, clock.monotonic()) > 0) {
        dropped++
        return
      }
      const said = { regarding, type, reason, message: printable(message, MAX_MESSAGE) }
      const facts = component === undefined ? said : { ...said, component }
      const key = keyOf(object, type, reason, facts.message)
      const now = clock.now()
      forgetOld(now)
      let item = series.get(key)
      series.delete(key)
      if (!item) {
        if (!makeRoom()) {
          dropped++
          complain('queue', `${MAX_SERIES} events wait to be written`)
          return
        }
        item = { object: undefined, count: 0, pending: 0, first: now, last: now }
      }
      series.set(key, item)
      item.last = now
      item.pending++
      queue.set(item, facts)
      wake()
    },
    async run(signal) {
      void aborted(signal).then(() => wake())
      while (!signal.aborted) {
        const [next] = queue
        if (next) {
          const wait = await write(...next, signal)
          if (wait > 0) await clock.sleep(wait, signal)
          continue
        }
        for (const resolve of drained) resolve()
        drained = []
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
    },
    async flush(ms) {
      if (queue.size === 0) return
      const done = new AbortController()
      drained.push(() => done.abort())
      await clock.sleep(ms, done.signal)
      if (queue.size > 0) logger.warn({ events: queue.size }, 'events left unwritten')
    },
    counts: () => ({ written, dropped }),
  }
}

/** A key for these texts: a digest, because messages are long and thousands of keys are kept. */
function keyOf(...texts: readonly string[]): string {
  return hash('sha256', JSON.stringify(texts), 'base64')
}

/** Whether the same request may succeed later: no answer, an overloaded server, a token being renewed. */
function mayPass(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status >= 500 || error.status === 429 || error.status === 401
}

/** The API server's limit for the newer kind of event (`NoteLengthLimit`). */
const MAX_MESSAGE = 1024

export interface EventDetails {
  readonly regarding: {
    readonly apiVersion: string
    readonly kind: string
    readonly name: string
    readonly uid: string
  }
  readonly type: 'Normal' | 'Warning'
  /** CamelCase. */
  readonly reason: string
  /** One sentence; no secret. Made printable, and cut at {@link MAX_MESSAGE} characters. */
  readonly message: string
  /** Who says so, where it is not the recorder's own component. */
  readonly component?: string
}

/** An event and how often it happened. */
interface EventSeries {
  /** Name of the Event object, once chosen. */
  object: string | undefined
  /** Occurrences that the Event object counts. */
  count: number
  /** Occurrences that are not written yet. */
  pending: number
  /** Milliseconds since the epoch. */
  first: number
  last: number
}

/** Nodes have no namespace; the API server wants their events here (`legacyValidateEvent`). */
const COLLECTION = '/api/v1/namespaces/default/events'
/** Names have at most 253 characters, and need room for a unique suffix. */
const MAX_PREFIX = 230

/**
 * Writes core/v1 Events.
 *
 * `involvedObject.uid` is the Node's UID, as the node controllers write it. (The kubelet writes the node's name there;
 * `kubectl describe node` asks for both.)
 */
function createEventWriter(options: {
  readonly client: KubeClient
  /** As `rollcall-controller`; `kubectl describe` shows it under From. */
  readonly component: string
  /** Identifies this process. */
  readonly instance: string
  readonly random: () => number
}) {
  const { client, component: own, instance, random } = options
  async function create(
    item: EventSeries,
    facts: EventDetails,
    count: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { regarding, type, reason, message, component = own } = facts
    // Chosen before the first attempt: if its answer is lost, the next attempt finds the object.
    item.object ??= uniqueName(regarding.name, item.last, random)
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: item.object },
      involvedObject: regarding,
      type,
      reason,
      message,
      count,
      firstTimestamp: timestamp(item.first),
      lastTimestamp: timestamp(item.last),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    }
    try {
      await client.request({ method: 'POST', path: COLLECTION, body, signal })
    } catch (error) {
      if (!hasStatus(error, 409)) throw error
    }
    item.count = count
  }

  async function raise(item: EventSeries, count: number, signal: AbortSignal): Promise<boolean> {
    const body = { count: item.count + count, lastTimestamp: timestamp(item.last) }
    const path = `${COLLECTION}/${item.object}`
    try {
      await client.request({
        method: 'PATCH',
        path,
        contentType: 'application/merge-patch+json',
        body,
        signal,
      })
    } catch (error) {
      if (hasStatus(error, 404)) return false
      throw error
    }
    item.count += count
    return true
  }

  return {
    /** Adds `count` occurrences to the Event object. Throws as `KubeClient.request`; may be retried. */
    async write(item: EventSeries, facts: EventDetails, count: number, signal: AbortSignal): Promise<void> {
      if (item.count > 0) {
        if (await raise(item, count, signal)) return
        // Events live for an hour. This one is gone, so a new one counts what happened since.
        item.object = undefined
        item.count = 0
        item.first = item.last
      }
      await create(item, facts, count, signal)
    },
  }
}

function uniqueName(subject: string, ms: number, random: () => number): string {
  const suffix = Math.floor(random() * 2 ** 32)
  return `${subject.slice(0, MAX_PREFIX)}.${ms.toString(16)}${suffix.toString(16).padStart(8, '0')}`
}
