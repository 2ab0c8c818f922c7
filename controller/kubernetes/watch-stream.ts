import * as v from 'valibot'
import { apiStatus } from './api-error.ts'
import { readLines } from './lines.ts'

/** etcd refuses objects above 1.5 MiB; the API server's JSON writes some characters as six, and a kubelet may choose them. */
const MAX_LINE_BYTES = 10 * 1024 * 1024

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'
  /** Empty for a bookmark. */
  readonly name: string
  readonly resourceVersion: string
  /** The whole object, as received. */
  readonly object: unknown
}

/** The watch has lost events: only a new list helps. */
export class BrokenWatchError extends Error {
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
 * @throws BrokenWatchError for an ERROR event (the usual one is `410 Expired`) and for a line that is not an event;
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
