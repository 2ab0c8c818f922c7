import { ApiError } from '../../agent/shared/api-error.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import { messageOf } from '../../agent/shared/result.ts'
import { apiError } from './api-error.ts'
import { type CredentialLocation, Credentials, type CurrentCredentials } from './credentials.ts'

export interface KubeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** From the root, as `/api/v1/nodes/a`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  /** Of the body; JSON by default. */
  readonly contentType?:
    | 'application/json'
    | 'application/merge-patch+json'
    | 'application/json-patch+json'
    /** Server-side apply; JSON is valid YAML. */
    | 'application/apply-patch+yaml'
  /** The user to impersonate, with only that user's own groups. */
  readonly impersonate?: string
  /** Milliseconds until the whole answer must have arrived; {@link DEFAULT_TIMEOUT} by default. */
  readonly timeout?: number
  readonly signal: AbortSignal
}

/** Longer than the API server takes for anything but a large list, shorter than a person's patience. */
export const DEFAULT_TIMEOUT = 15_000
/**
 * Several times of this is in memory while an answer is parsed. A page of ordinary Nodes is a third of it; larger ones are read
 * in smaller pages.
 */
const MAX_BODY = 16 * 1024 * 1024
/** A Status has some hundred bytes; for a longer answer the HTTP status is enough. */
const MAX_ERROR_BODY = 64 * 1024

const NO_CREDENTIAL = 'the credential plugin of the kubeconfig has given no credential yet'

/** The answer is longer than is read. */
export class AnswerTooLongError extends Error {
  override readonly name = 'AnswerTooLongError'
}

/** Everything that the controller needs of an API server's client. */
export interface KubeClient {
  /**
   * One request and its JSON answer, which the caller parses.
   *
   * @throws ApiError for an unsuccessful answer; AnswerTooLongError; Error with a NoAnswerError as its cause when no answer came
   *   in time
   */
  request(request: KubeRequest): Promise<unknown>
  /**
   * A request whose answer is streamed, such as a watch. Resolves with the headers, which must arrive within `timeout`; then
   * each chunk must arrive within `silence` milliseconds of the previous one. The caller must read the stream to its end or
   * abort the signal.
   *
   * @throws as {@link request}; the iteration throws when the connection breaks or the signal aborts
   */
  stream(request: KubeRequest, silence: number): Promise<AsyncIterable<Uint8Array>>
  /** Closes every connection, with the requests under way on them. */
  close(): Promise<void>
}

/** Creates a client; throws when the credentials cannot be read. It does not limit the number of concurrent requests. */
export function createKubeClient({
  credentials: source,
  clock,
  userAgent,
}: {
  readonly credentials: CredentialLocation
  readonly clock: Clock
  /** As `rollcall/1.2.3`. */
  readonly userAgent: string
}): KubeClient {
  const credentials = Credentials.load(source, clock)

  async function open(
    what: string,
    request: KubeRequest,
    { headers, agent, refuse }: CurrentCredentials,
    signal: AbortSignal,
  ) {
    const { origin, pathname, search } = new URL(
      `${credentials.server}${request.path}?${new URLSearchParams(request.query)}`,
    )
    const answer = await agent.request({
      origin,
      path: `${pathname}${search}`,
      method: request.method,
      headers: {
        ...headers,
        accept: 'application/json',
        'user-agent': userAgent,
        ...(request.impersonate === undefined ? {} : { 'impersonate-user': request.impersonate }),
        ...(request.body ? { 'content-type': request.contentType ?? 'application/json' } : {}),
      },
      body: request.body ? JSON.stringify(request.body) : null,
      signal,
    })
    if (answer.statusCode >= 200 && answer.statusCode < 300) return answer.body
    if (answer.statusCode === 401) refuse()
    const said = await readUpTo(MAX_ERROR_BODY, answer.body)
    throw apiError(what, answer.statusCode, said, one(answer.headers['retry-after']))
  }

  /** The same, but ends as soon as the signal aborts: undici heeds it only once connected, which may take long. */
  async function openNow(what: string, request: KubeRequest, signal: AbortSignal) {
    const aborted = Promise.withResolvers<never>()
    let sends = false
    // That nothing answered would be a wrong lead: nothing was asked.
    const waits = (cause: unknown) =>
      !sends && cause instanceof NoAnswerError ? new Error(NO_CREDENTIAL, { cause }) : cause
    const abort = () => aborted.reject(waits(signal.reason))
    if (signal.aborted) abort()
    else signal.addEventListener('abort', abort, { once: true })
    try {
      const current = await Promise.race([credentials.current(), aborted.promise])
      sends = true
      return await Promise.race([open(what, request, current, signal), aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  return {
    async request(request) {
      const what = `${request.method} ${request.path}`
      const deadline = createDeadline(clock, request.timeout ?? DEFAULT_TIMEOUT, request.signal)
      let text: string | undefined
      try {
        text = await readUpTo(MAX_BODY, await openNow(what, request, deadline.signal))
      } catch (cause) {
        throw explain(what, cause, request.signal)
      } finally {
        deadline.release()
      }
      if (text === undefined)
        throw new AnswerTooLongError(`${what} was answered with more than ${MAX_BODY} bytes`)
      return parseJson(what, text)
    },
    async stream(request, silence) {
      const what = `${request.method} ${request.path}`
      const deadline = createDeadline(clock, request.timeout ?? DEFAULT_TIMEOUT, request.signal)
      try {
        const body = await openNow(what, request, deadline.signal)
        deadline.renew(silence)
        return pieces(what, body, deadline, silence, request.signal)
      } catch (cause) {
        deadline.release()
        throw explain(what, cause, request.signal)
      }
    },
    close: () => credentials.close(),
  }
}

/** The whole text, or undefined where it is longer; the rest is then left unread and the connection is closed. */
async function readUpTo(maxBytes: number, body: AsyncIterable<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function* pieces(
  what: string,
  body: AsyncIterable<Uint8Array>,
  deadline: ReturnType<typeof createDeadline>,
  silence: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const piece of body) {
      deadline.renew(silence)
      yield piece
    }
  } catch (cause) {
    throw explain(what, cause, signal)
  } finally {
    deadline.release()
  }
}

function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`${what} was answered with ${text.length} characters that are not JSON`, { cause })
  }
}

/** The API server's own messages are clear by themselves; all other errors need the request's name. */
function explain(what: string, cause: unknown, signal: AbortSignal): unknown {
  if (cause instanceof ApiError || signal.aborted) return cause
  return new Error(`${what} failed: ${messageOf(cause)}`, { cause })
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/** What a deadline aborts with. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  /** How long nothing came, milliseconds. */
  readonly ms: number

  constructor(ms: number) {
    super(`nothing came for ${ms} ms`)
    this.ms = ms
  }
}

/** Without a reason, abort() would make an error with a stack for each request. */
const RELEASED = 'released'

/**
 * A signal for one request. AbortSignal.any() and AbortSignal.timeout() would almost do, but they leave something on the
 * outer signal for each request until garbage collection, cannot be renewed, and use no other clock.
 */
export function createDeadline(clock: Clock, ms: number, outer: AbortSignal) {
  const controller = new AbortController()
  const timer = new AbortController()
  let allowed = ms
  let renewed = clock.monotonic()

  const abort = () => controller.abort(outer.reason)
  if (outer.aborted) abort()
  else outer.addEventListener('abort', abort, { once: true })

  async function guard(): Promise<void> {
    for (let left = ms; left > 0; left = renewed + allowed - clock.monotonic()) {
      await clock.sleep(left, timer.signal)
      if (timer.signal.aborted) return
    }
    controller.abort(new NoAnswerError(allowed))
  }
  void guard()

  return {
    /** Aborts with the outer signal, or with a {@link NoAnswerError} when the time is over. */
    signal: controller.signal,
    /** Restarts the deadline: it ends this many milliseconds from now. */
    renew(next: number): void {
      allowed = next
      renewed = clock.monotonic()
    },
    /** Releases the timer and the outer signal. */
    release(): void {
      timer.abort(RELEASED)
      outer.removeEventListener('abort', abort)
    },
  }
}
