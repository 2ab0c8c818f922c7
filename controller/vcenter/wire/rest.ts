/** Calls of vCenter's REST interface, the older or the newer one, without a session. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { InventoryMetrics } from '../inventory-metrics.ts'
import type { Timings } from '../timings.ts'
import type { Connection, HTTPAnswer } from './connection.ts'
import { VCenterError } from './errors.ts'
import { readText } from './read-text.ts'

/** Two thousand objects with a few tags each stay under it. */
const MAX_BYTES = 8 << 20

/** How to write a call, and how to read its answer: vCenter's REST interface has two forms. */
interface RestInterface {
  /** The path of a call, with its query. */
  path(resource: string, id: string | undefined, action: string | undefined): string
  /** The value in an answer's document. */
  value(document: unknown): unknown
}

/** All versions of vCenter up to 8.0 have it. */
const REST: RestInterface = {
  path: (resource, id, action) =>
    `/rest/com/vmware/cis/${resource}${id === undefined ? '' : `/id:${encodeURIComponent(id)}`}` +
    (action === undefined ? '' : `?~action=${action}`),
  value: (document) => (document instanceof Object && 'value' in document ? document.value : undefined),
}

/** From 7.0 U2 on. Sessions are at its root, and actions name their object only in the body. */
const API: RestInterface = {
  path(resource, id, action) {
    if (resource === 'session') return '/api/session'
    if (action !== undefined) return `/api/cis/${resource}?action=${action}`
    return `/api/cis/${resource}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
  },
  value: (document) => document,
}

/** An answer with a status other than 2xx. */
export class RESTError extends VCenterError {
  readonly status: number

  constructor(server: string, resource: string, status: number) {
    super(
      status === 401 ? 'SessionLost' : status === 403 ? 'NoPermission' : 'Unavailable',
      `${server} answers to ${resource} with HTTP status ${status}`,
    )
    this.name = 'RESTError'
    this.status = status
  }
}

export interface RESTCall {
  readonly method: 'GET' | 'POST'
  /** As `tagging/tag`, without identifiers; also used in metrics and messages. */
  readonly resource: string
  /** The object of the call; with an action it is in the body too. */
  readonly id?: string
  readonly action?: string
  readonly body?: unknown
  /** Milliseconds; that of a small call by default. */
  readonly deadline?: number
  readonly signal: AbortSignal
}

export interface RESTTransport {
  /** Sends once and returns the answer. Throws a VCenterError. */
  send(
    method: RESTCall['method'] | 'DELETE',
    resource: string,
    request: Omit<RESTCall, 'method' | 'resource'> & { readonly headers: Record<string, string> },
  ): Promise<unknown>
  /** Uses the other of the two interfaces from now on. */
  switchInterface(): void
}

export interface RESTTransportOptions {
  readonly connection: Connection
  readonly timings: Timings
  readonly clock: Clock
  readonly metrics: InventoryMetrics
}

export function createRESTTransport({
  connection,
  timings,
  clock,
  metrics,
}: RESTTransportOptions): RESTTransport {
  /** So far every version of vCenter has the older one. */
  let spoken: RestInterface = REST
  return {
    async send(method, resource, { headers, id, action, body, deadline = timings.callDeadline, signal }) {
      const start = clock.monotonic()
      const { path, value } = spoken
      const done = (outcome: string) =>
        metrics.call(`REST ${method} ${resource}`, outcome, (clock.monotonic() - start) / 1000)
      const request = {
        method,
        path: path(resource, id, action),
        headers,
        deadline,
        signal,
      }
      try {
        const json = body === undefined ? {} : { body: JSON.stringify(body) }
        const document = await connection.request({ ...request, ...json }, (answer) =>
          readAnswer(connection.server, resource, answer),
        )
        done('ok')
        return value(document)
      } catch (error) {
        if (!signal.aborted) done(error instanceof VCenterError ? error.reason : 'Defect')
        throw error
      }
    },
    switchInterface() {
      spoken = spoken === REST ? API : REST
    },
  }
}

/** Whether the object is missing, or the whole interface. */
export function isNotFound(error: unknown): boolean {
  return error instanceof RESTError && error.status === 404
}

async function readAnswer(server: string, resource: string, answer: HTTPAnswer): Promise<unknown> {
  if (answer.status < 200 || answer.status > 299) throw new RESTError(server, resource, answer.status)
  const tooLong = () => malformed(server, `is longer than ${MAX_BYTES >> 20} MB`)
  const text = await readText(answer.body, MAX_BYTES, tooLong)
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformed(server, 'is not JSON', error)
  }
}

function malformed(server: string, what: string, cause?: unknown): VCenterError {
  return new VCenterError(
    'MalformedAnswer',
    `the REST answer of ${server} ${what}; check for a proxy in between`,
    { cause },
  )
}
