import type { ClientRequest, IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { isIP } from 'node:net'
import { anySignal } from '../shared/any-signal.ts'
import { ApiError } from '../shared/api-error.ts'
import { CONNECTING } from '../shared/connecting.ts'
import type { Credential } from './credential.ts'

interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** Path and query. */
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** `application/json` without it. */
  readonly contentType?: string
  /** `application/json` without it. */
  readonly accept?: string
}

export interface ApiClient {
  /**
   * The parsed answer.
   *
   * @throws ApiError for an answer other than 2xx, ConnectionError for no answer in time or one that is not JSON
   */
  request(request: ApiRequest): Promise<unknown>
}

export interface ApiClientOptions {
  readonly userAgent: string
  readonly signal: AbortSignal
  /** Milliseconds for one request, connection included. */
  readonly timeout?: number
}

const TIMEOUT = 10_000
/** More than any object that the agent reads. */
const MAX_BODY = 1 << 20

/**
 * Provides a client for a few requests over one connection and closes it afterwards: between two reports the agent has no
 * connection. Uses `node:https`, which needs the least memory of Node's clients.
 */
export async function withApiClient<T>(
  credential: Credential,
  options: ApiClientOptions,
  use: (client: ApiClient) => Promise<T>,
): Promise<T> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  try {
    return await use({ request: (one) => send(agent, credential, options, one) })
  } finally {
    agent.destroy()
  }
}

function send(
  agent: Agent,
  credential: Credential,
  options: ApiClientOptions,
  one: ApiRequest,
): Promise<unknown> {
  const { server, ca, serverName, clientCertificate, token } = credential
  const { userAgent, signal, timeout = TIMEOUT } = options
  const body = one.body === undefined ? undefined : JSON.stringify(one.body)
  const hostname = server.hostname.replace(/^\[|\]$/g, '')
  const url = `${server.pathname.replace(/\/$/, '')}${one.path}`
  // oxlint-disable-next-line no-restricted-properties -- ends one request; no decision depends on it
  const deadline = AbortSignal.timeout(timeout)
  return new Promise((resolve, reject) => {
    const fail = (error: unknown) => reject(explain(error, server, deadline.aborted, timeout))
    const settings: RequestOptions = {
      ...CONNECTING,
      agent,
      method: one.method,
      hostname,
      port: server.port || 443,
      path: url,
      headers: {
        accept: one.accept ?? 'application/json',
        'user-agent': userAgent,
        ...(body === undefined ? {} : { 'content-type': one.contentType ?? 'application/json' }),
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      signal: anySignal([signal, deadline]),
      ...(ca === undefined ? {} : { ca }),
      ...(clientCertificate ?? {}),
      ...(serverName === undefined
        ? isIP(hostname)
          ? {}
          : { servername: hostname }
        : { servername: serverName }),
    }
    let outgoing: ClientRequest
    try {
      outgoing = request(settings)
    } catch (error) {
      // Node refuses a CA or certificate that is not PEM before anything is sent.
      return fail(error)
    }
    outgoing.on('error', fail)
    outgoing.on('response', (response) => {
      collect(response).then((text) => {
        try {
          resolve(read(response, text))
        } catch (error) {
          reject(error)
        }
      }, fail)
    })
    outgoing.end(body)
  })
}

async function collect(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > MAX_BODY) {
      response.destroy()
      throw new ConnectionError(`an answer of more than ${MAX_BODY} bytes`, 'TooLong')
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function read(response: IncomingMessage, text: string): unknown {
  const status = response.statusCode ?? 0
  const answer = parse(text)
  if (status < 200 || status > 299) {
    const { message, reason } = statusObject(answer, status)
    const seconds = Number(response.headers['retry-after'])
    const retryAfter = Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : undefined
    throw new ApiError(message, { status, reason, retryAfter })
  }
  if (answer === undefined) {
    throw new ConnectionError('an answer that is not JSON: is this a Kubernetes API server?', 'NotJSON')
  }
  return answer
}

/** The `Status` by which the API server explains an error. */
function statusObject(answer: unknown, status: number): { message: string; reason: string } {
  const found = { message: `HTTP status ${status}`, reason: '' }
  if (answer === null || typeof answer !== 'object') return found
  if ('message' in answer && typeof answer.message === 'string') found.message = answer.message.slice(0, 1000)
  if ('reason' in answer && typeof answer.reason === 'string') found.reason = answer.reason.slice(0, 64)
  return found
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function explain(error: unknown, server: URL, late: boolean, timeout: number): Error {
  if (error instanceof ConnectionError) return error
  if (late)
    return new ConnectionError(`no answer from ${server.origin} within ${timeout / 1000} s`, 'TimedOut')
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'Unknown'
  return new ConnectionError(`no connection to ${server.origin}`, code, error)
}

/** No answer, or not one of an API server; `code` comes from the system, TLS or HTTP. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly code: string

  constructor(message: string, code: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
  }
}
