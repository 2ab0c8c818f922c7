import * as v from 'valibot'
import { ApiError } from '../../agent/shared/api-error.ts'
import { type Backoff, createBackoff } from '../../agent/shared/backoff.ts'
import { attempt, messageOf } from '../../agent/shared/result.ts'
import type { Basics } from '../lib/tasks.ts'
import { apiStatus, hasStatus } from './api-error.ts'
import type { KubeClient } from './client.ts'
import { readList, selectorOf } from './list.ts'

/** What every kept object must have. */
export interface Listed {
  readonly name: string
  readonly resourceVersion: string
}

/** The objects of one kind as last seen. */
export interface Informer<T> {
  get(name: string): T | undefined
  values(): Iterable<T>
  readonly size: number
  /** Whether the first list is complete. */
  readonly synced: boolean
  /** Follows the API server until the signal aborts, however long the server is away. */
  run(signal: AbortSignal): Promise<void>
}

/** What an informer needs.*/
export interface InformerOptions<T extends Listed> extends Basics {
  readonly client: KubeClient
  /** Of the collection, as `/api/v1/nodes`; of a kind with namespaces that of one, because objects are identified by name. */
  readonly path: string
  /** Which objects, as `metadata.name=a`; by default all. */
  readonly fieldSelector?: string
  /**
   * Extracts what is needed from an object; the rest is dropped. What it returns is kept for as long as the object exists, so it
   * should be `compact`. Undefined for an object not to be kept.
   */
  parse(object: unknown): T | undefined
  /** An object was added (no previous), changed, or deleted (no current). An error thrown here ends the informer. */
  onChange(name: string, current: T | undefined, previous: T | undefined): void
  /** The first list is complete, and onChange was called for all of it. */
  onSynced?(): void
  /** An attempt has failed with this error, or the watch works again: undefined. */
  onFailing?(error: unknown): void
}

/** A bookmark comes every minute, the first after two (seen with Kubernetes 1.36): three without one mean a dead watch. */
const SILENCE = 180_000
/** Each watch is requested to end after this many seconds, or up to twice as many, as in client-go. */
const MIN_WATCH_SECONDS = 300
/** A watch that lasted this long, milliseconds, was a success. */
const SETTLED = 10_000
const BACKOFF = { base: 500, max: 10_000 }
/** Longest Retry-After that is heeded, milliseconds. */
const MAX_RETRY_AFTER = 60_000

/**
 * Keeps a projection of all objects of a kind, and tells what changed.
 *
 * A broken watch is resumed at its last resourceVersion. A new list is read when that version has expired (410) or the
 * server sent something unintelligible. The new list is compared by resourceVersion, so only real changes are told.
 */
export function createInformer<T extends Listed>(options: InformerOptions<T>): Informer<T> {
  const { client, path, parse, onChange, clock, random, logger } = options
  const items = new Map<string, T>()
  /** Between attempts to reach the server at all. */
  const reaching = createBackoff({ ...BACKOFF, random })
  /** Between watches that start and soon fail: a server that is back may have forgotten our resourceVersion. */
  const following = createBackoff({ ...BACKOFF, random })
  let resumeAt: string | undefined
  let synced = false
  let failing = false

  function put(name: string, current: T | undefined): void {
    const previous = items.get(name)
    if (current?.resourceVersion === previous?.resourceVersion) return
    if (current) items.set(name, current)
    else items.delete(name)
    onChange(name, current, previous)
  }

  function replace(list: ReadonlyMap<string, T>): void {
    for (const name of [...items.keys()]) if (!list.has(name)) put(name, undefined)
    for (const [name, item] of list) put(name, item)
    if (synced) return
    synced = true
    options.onSynced?.()
  }

  function apply({ type, name, resourceVersion, object }: WatchEvent): void {
    if (type !== 'BOOKMARK') put(name, type === 'DELETED' ? undefined : parse(object))
    resumeAt = resourceVersion
  }

  function reached(): void {
    reaching.reset()
    if (!failing) return
    failing = false
    logger.info({ path }, 'watch works again')
    options.onFailing?.(undefined)
  }

  /**
   * Lists if necessary, then watches. Resolves with the backoff of how far it came and what ended it: undefined for the server's
   * own, orderly end of a watch.
   */
  async function round(signal: AbortSignal): Promise<{ readonly error: unknown; readonly backoff: Backoff }> {
    if (resumeAt === undefined) {
      const list = new Map<string, T>()
      const keep = (object: unknown) => {
        const item = parse(object)
        if (item) list.set(item.name, item)
      }
      const read = await attempt(() => readList(client, options, keep, signal))
      if (!read.ok) return { error: read.error, backoff: reaching }
      replace(list)
      resumeAt = read.value
    }
    const query = {
      ...selectorOf(options),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: resumeAt,
      timeoutSeconds: String(Math.round(MIN_WATCH_SECONDS * (1 + random()))),
    }
    const opened = await attempt(() => client.stream({ method: 'GET', path, query, signal }, SILENCE))
    if (!opened.ok) return { error: opened.error, backoff: reaching }
    reached()
    const events = watchEvents(`watch of ${path}`, opened.value)
    try {
      for (;;) {
        // Only the stream's errors are caught: an error of onChange is a defect and ends the informer.
        const next = await attempt(() => events.next())
        if (!next.ok) return { error: next.error, backoff: following }
        if (next.value.done) return { error: undefined, backoff: following }
        apply(next.value.value)
      }
    } finally {
      await events.return(undefined)
    }
  }

  function waitAfter({ error, backoff }: Awaited<ReturnType<typeof round>>): number {
    const asked = error instanceof ApiError ? (error.retryAfter ?? 0) : 0
    return Math.max(backoff.next(), Math.min(asked, MAX_RETRY_AFTER))
  }

  function report(error: unknown, wait: number): void {
    const facts = {
      path,
      cause: messageOf(error),
      retryInMs: Math.round(wait),
    }
    if (failing) logger.debug(facts, 'watch still fails')
    else logger.warn(facts, 'watch failed')
    failing = true
    options.onFailing?.(error)
  }

  return {
    get: (name) => items.get(name),
    values: () => items.values(),
    get size() {
      return items.size
    },
    get synced() {
      return synced
    },
    async run(signal) {
      while (!signal.aborted) {
        const begun = clock.monotonic()
        const ending = await round(signal)
        const { error } = ending
        if (signal.aborted) return
        if (clock.monotonic() - begun >= SETTLED) {
          following.reset()
          if (error === undefined) continue
        }
        if (error instanceof BrokenWatchError || hasStatus(error, 410)) resumeAt = undefined
        const wait = waitAfter(ending)
        if (error !== undefined) report(error, wait)
        await clock.sleep(wait, signal)
      }
    },
  }
}

/** etcd refuses objects above 1.5 MiB; the API server's JSON writes some characters as six, and a kubelet may choose them. */
const MAX_LINE_BYTES = 10 * 1024 * 1024

interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  /** Empty for a bookmark. */
  readonly name: string
  readonly resourceVersion: string
  /** The whole object, as received. */
  readonly object: unknown
}

/** The watch has lost events: only a new list helps. */
class BrokenWatchError extends Error {
  override readonly name = 'BrokenWatchError'
}

const Envelope = v.object({
  type: v.picklist(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: v.unknown(),
})

const Metadata = v.object({
  metadata: v.object({
    name: v.optional(v.string(), ''),
    resourceVersion: v.pipe(v.string(), v.minLength(1)),
  }),
})

/**
 * Reads a watch's answer, one JSON object a line. Ends when the server ends it.
 *
 * @param what the request, for messages
 * @throws {@link BrokenWatchError} for an ERROR event (the usual one is `410 Expired`) and for a line that is not an event;
 *   otherwise what the stream threw
 */
export async function* watchEvents(
  what: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<WatchEvent> {
  try {
    for await (const line of readLines(pieces, MAX_LINE_BYTES)) yield parseEvent(what, line)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new BrokenWatchError(`${what} sent more than one object can be: ${cause.message}`, { cause })
  }
}

function parseEvent(what: string, line: string): WatchEvent {
  const envelope = v.safeParse(Envelope, parseJson(what, line))
  if (!envelope.success)
    throw new BrokenWatchError(`${what} sent a line of ${line.length} characters that is not an event`)
  const { type, object } = envelope.output
  if (type === 'ERROR') throw new BrokenWatchError(`${what} ended with ${apiStatus(object)}`)
  const parsed = v.safeParse(Metadata, object)
  if (!parsed.success) throw new BrokenWatchError(`${what} sent an object without name and resourceVersion`)
  return { type, ...parsed.output.metadata, object }
}

function parseJson(what: string, line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new BrokenWatchError(`${what} sent a line of ${line.length} characters that is not JSON`, { cause })
  }
}

/**
 * Cuts a stream of bytes into lines of UTF-8 text, without their newlines (10). Text after the last newline is dropped: a
 * connection ended in the middle of a line.
 *
 * @throws RangeError as soon as a line is longer than `maxBytes`
 */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string> {
  let begun: Uint8Array[] = []
  let length = 0
  for await (const piece of pieces) {
    let start = 0
    for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, start)) {
      length += end - start
      if (length > maxBytes) throw tooLong(maxBytes)
      begun.push(piece.subarray(start, end))
      yield Buffer.concat(begun, length).toString('utf8')
      begun = []
      length = 0
      start = end + 1
    }
    if (start < piece.length) {
      length += piece.length - start
      if (length > maxBytes) throw tooLong(maxBytes)
      begun.push(piece.subarray(start))
    }
  }
}

function tooLong(maxBytes: number): RangeError {
  return new RangeError(`a line is longer than ${maxBytes} bytes`)
}
