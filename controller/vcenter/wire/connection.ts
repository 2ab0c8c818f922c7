/** HTTPS to one vCenter: a few connections for calls, a separate one for the long poll, a deadline for everything, and gzip. */
import { isIPv6 } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Client, type Dispatcher, Pool } from 'undici'
import { anySignal } from '../../../agent/shared/any-signal.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import { untilAborted } from '../../lib/tasks.ts'
import { BrokenAnswerError, DeadlineError, malformed, NotSentError, VCenterError } from './errors.ts'
import { createNames, type Names } from './names.ts'
import { type ServerTrust, trustConnector } from './trust.ts'

/**
 * The most that is done at once (locating and a resync, with two reads each, a sweep, a change of the watched list, four calls
 * for tags, what can be proven, datacenters, sixteen probes, four objects that are asked for apart), and one to check whether
 * vCenter is alive: that one must never wait.
 */
const CONNECTIONS = 33

/**
 * Milliseconds for which a connection is kept without a request: less than a proxy in between keeps it (HAProxy 50 s, nginx and
 * load balancers 60 s), because a call on one that ends at this moment fails.
 */
const IDLE = 40_000

export interface HTTPRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Milliseconds for everything, including the answer's body. */
  readonly deadline: number
  /** The long poll uses a separate connection, so that it never delays a call. */
  readonly longPoll?: boolean
  readonly signal: AbortSignal
}

export interface HTTPAnswer {
  readonly status: number
  /** Lower case, without parameters; empty where there is none. */
  readonly contentType: string
  readonly cookies: readonly string[]
  /** Decompressed if necessary. */
  readonly body: AsyncIterable<Uint8Array>
}

export interface Connection {
  /** `name:port`, for messages. */
  readonly server: string
  /**
   * Sends the request and reads the answer by `read`. Throws a VCenterError when that fails or takes longer than the
   * deadline, and the signal's reason when the signal aborts. Never sends anything twice.
   */
  request<T>(request: HTTPRequest, read: (answer: HTTPAnswer) => Promise<T>): Promise<T>
  /** Closes all connections, with the requests on them. */
  close(): Promise<void>
}

export interface ConnectionOptions {
  readonly server: string
  readonly port: number
  readonly trust: ServerTrust
  /** Identifies us in vCenter's list of sessions. */
  readonly userAgent: string
  readonly clock: Clock
  /** Called with the expiry of the server's certificate, milliseconds since the epoch. */
  readonly onCertificate?: (expiresAt: number) => void
  /** By default the system's. */
  readonly names?: Names
}

export function openConnection(options: ConnectionOptions): Connection {
  const { server: host, port, trust, userAgent, clock, onCertificate } = options
  const authority = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  const origin = `https://${authority}`
  // We set deadlines ourselves: undici's 300 s would be too short for a long poll or too long for a call.
  const closed = new AbortController()
  const { signal } = closed
  const { names = createNames({ clock, signal }) } = options
  const connector = trustConnector({ trust, server: authority, names, signal, onCertificate })
  const connect: typeof connector = (target, callback) =>
    connector(target, (...made) => {
      const [error] = made
      const failure = error && asVCenterError(authority, error)
      if (failure instanceof VCenterError) callback(new NotSentError(failure), null)
      else callback(...made)
    })
  const settings = { connect, headersTimeout: 0, bodyTimeout: 0, keepAliveTimeout: IDLE }
  const calls = new Pool(origin, { ...settings, connections: CONNECTIONS })
  const longPoll = new Client(origin, settings)
  const always = { 'user-agent': userAgent, 'accept-encoding': ACCEPT_ENCODING }

  return {
    server: authority,
    async request(request, read) {
      const ended = new AbortController()
      const late = new AbortController()
      const timer = clock.sleep(request.deadline, ended.signal).then(() => {
        if (!ended.signal.aborted) late.abort()
      })
      try {
        const dispatcher = request.longPoll === true ? longPoll : calls
        const either = anySignal([request.signal, late.signal])
        // undici heeds the signal only once it is connected.
        const sent = { ...request, headers: { ...always, ...request.headers } }
        return await untilAborted(exchange(authority, dispatcher, sent, either, read), either)
      } catch (error) {
        if (request.signal.aborted) throw request.signal.reason
        if (late.signal.aborted) throw timedOut(authority, request)
        throw asVCenterError(authority, error)
      } finally {
        ended.abort()
        await timer
      }
    },
    async close() {
      closed.abort()
      await Promise.all([calls.destroy(), longPoll.destroy()])
    },
  }
}

async function exchange<T>(
  server: string,
  dispatcher: Dispatcher,
  { method, path, headers, body }: HTTPRequest,
  signal: AbortSignal,
  read: (answer: HTTPAnswer) => Promise<T>,
): Promise<T> {
  const response = await dispatcher.request({ method, path, headers, body: body ?? null, signal })
  // A body that is dropped before its end emits another error, with no listener.
  response.body.on('error', () => undefined)
  try {
    const [contentType = ''] = String(response.headers['content-type'] ?? '').split(';')
    const encoding = String(response.headers['content-encoding'] ?? '')
    return await read({
      status: response.statusCode,
      contentType: contentType.trim().toLowerCase(),
      cookies: [response.headers['set-cookie'] ?? []].flat(),
      body: inflate(server, response.body, encoding.trim().toLowerCase()),
    })
  } catch (error) {
    const code = error instanceof VCenterError ? undefined : codeOf(error)
    if (code === undefined || signal.aborted) throw error
    throw new BrokenAnswerError(
      `${server} cannot be reached (${code}): the connection broke in the middle of an answer; check the state of ` +
        'its services, and any proxy in between',
      { cause: error },
    )
  } finally {
    response.body.destroy()
  }
}

function timedOut(server: string, { path, deadline, longPoll }: HTTPRequest): VCenterError {
  return new DeadlineError(
    `${server} took the request to ${path} but did not finish its answer within ${deadline / 1000} s; ` +
      'check the state of its services',
    longPoll === true,
  )
}

const NOT_TLS = new Set(['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'])
/** By the codes of a NameError. */
const UNRESOLVED: Readonly<Record<string, readonly [string, string]>> = {
  ENOTFOUND: ['has a name that DNS does not know', 'correct server, or the DNS of this machine or Pod'],
  EAI_AGAIN: ['has a name for which DNS does not answer', 'check the name servers of this machine or Pod'],
}

function asVCenterError(server: string, error: unknown): unknown {
  if (error instanceof VCenterError) return error
  const code = codeOf(error)
  if (code === undefined) return error
  if (NOT_TLS.has(code)) {
    return new VCenterError('NotVCenter', `${server} does not speak TLS (${code}); check server and port`, {
      cause: error,
    })
  }
  const [what, next] = UNRESOLVED[code] ?? [
    'cannot be reached',
    'check server, port, routes, firewalls and NetworkPolicies',
  ]
  return new VCenterError('Unreachable', `${server} ${what} (${code}); ${next}`, { cause: error })
}

/** The error code of Node or undici for a failed connection; an AggregateError covers several addresses. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if ('code' in error && typeof error.code === 'string') return error.code
  return error instanceof AggregateError ? codeOf(error.errors[0]) : codeOf(error.cause)
}

/** The only encoding requested and supported. vCenter's XML shrinks to a twentieth. */
const ACCEPT_ENCODING = 'gzip'
/** Bytes. By Node's default of 16 KiB an answer of some megabytes is handed over in hundreds of pieces. */
const INFLATED_CHUNK = 65_536

/**
 * The body of an answer with this `content-encoding`, inflated as it is read: limits on the size of an answer apply to the
 * inflated bytes, and nothing is inflated beyond them. Destroying `body` ends both. Throws a VCenterError for another
 * encoding and, while reading, for invalid gzip.
 */
export function inflate(server: string, body: Readable, encoding: string): AsyncIterable<Uint8Array> {
  if (encoding === '' || encoding === 'identity') return body
  if (encoding !== ACCEPT_ENCODING) {
    throw malformed(
      `the answer of ${server} has the encoding ${encoding.slice(0, 50)}, which was not asked for`,
    )
  }
  const inflated = createGunzip({ chunkSize: INFLATED_CHUNK })
  // The reader gets the error.
  pipeline(body, inflated, () => undefined)
  return readable(server, inflated)
}

async function* readable(server: string, inflated: Readable): AsyncGenerator<Uint8Array> {
  try {
    yield* inflated
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw code.startsWith('Z_')
      ? malformed(`the answer of ${server} cannot be inflated (${code})`, error)
      : error
  }
}

/**
 * Reads a body as text, of at most so many bytes after inflation. Throws what `tooLong` makes for a longer one, and
 * reads no more of it.
 */
export async function readText(
  body: AsyncIterable<Uint8Array>,
  most: number,
  tooLong: () => Error,
): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes > most) throw tooLong()
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}
