/** The two forms of vCenter's REST interface, how both name a session, and what they answer other than success. */

import type { FailureReason } from '../../types/reasons.ts'
import type { HTTPAnswer } from '../wire/connection.ts'
import { HTTPStatusError, UnansweredError, VCenterError, wasTurnedAway } from '../wire/errors.ts'

/** How to write a call, and how to read its answer: vCenter's REST interface has two forms. */
export interface RestInterface {
  /** The path of a call, with its query. */
  path(resource: string, id: string | undefined, action: string | undefined): string
  /** The value in an answer's document. */
  value(document: unknown): unknown
}

/** All versions of vCenter up to 8.0 have it. */
export const REST: RestInterface = {
  path: (resource, id, action) =>
    `/rest/com/vmware/cis/${resource}${id === undefined ? '' : `/id:${encodeURIComponent(id)}`}` +
    (action === undefined ? '' : `?~action=${action}`),
  value: (document) => (document instanceof Object && 'value' in document ? document.value : undefined),
}

/** From 7.0 U2 on. Sessions are at its root, and actions name their object only in the body. */
export const API: RestInterface = {
  path(resource, id, action) {
    if (resource === 'session') return '/api/session'
    if (action !== undefined) return `/api/cis/${resource}?action=${action}`
    return `/api/cis/${resource}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
  },
  value: (document) => document,
}

export const SESSION_HEADER = 'vmware-api-session-id'

/** Whether it can be sent in a header. */
export function isSessionID(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)
}

/** The session that the cookie of a login names: it exists also where the rest of the answer is lost. */
export function sessionIn({ status, cookies }: Pick<HTTPAnswer, 'status' | 'cookies'>): string | undefined {
  if (status < 200 || status > 299) return undefined
  return cookies.map((each) => new RegExp(`^${SESSION_HEADER}="?([^;"]*)`).exec(each)?.[1]).find(isSessionID)
}

const REASON_OF: Readonly<Record<number, FailureReason>> = {
  401: 'SessionLost',
  403: 'NoPermission',
  408: 'TimedOut',
  504: 'TimedOut',
}

/** An answer with a status other than 2xx. */
export class RESTError extends HTTPStatusError {
  readonly resource: string

  constructor(server: string, resource: string, status: number) {
    super(status, `${server} answers to ${resource} with HTTP status ${status}`, REASON_OF[status])
    this.name = 'RESTError'
    this.resource = resource
  }
}

/** An answer with a status of success that cannot be read. */
export class RESTAnswerError extends VCenterError {
  readonly resource: string

  constructor(resource: string, message: string, options?: ErrorOptions) {
    super('MalformedAnswer', message, options)
    this.name = 'RESTAnswerError'
    this.resource = resource
  }
}

/** Whether the error is about the requested objects or tags, not about the state of vCenter, its services or the session. */
export function isRESTRefusal(error: unknown): error is RESTError {
  return (
    error instanceof RESTError &&
    error.resource !== 'session' &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 408, 429].includes(error.status)
  )
}

/**
 * Whether vCenter itself has failed at the call, as with a single damaged object. Not where a proxy answers or a service is down,
 * unless other calls are answered, and not for calls about the session, which concern all objects.
 */
export function isBadAnswer(error: unknown): error is RESTError | RESTAnswerError | UnansweredError {
  if (error instanceof UnansweredError) return true
  if (error instanceof RESTError) return error.status === 500 && error.resource !== 'session'
  return error instanceof RESTAnswerError && error.resource !== 'session'
}

/** Whether nobody has answered the call, or a proxy in vCenter's place, so that it may be for its object. */
export function isUnanswered(error: unknown): error is VCenterError {
  if (error instanceof RESTError) return [408, 502, 503, 504].includes(error.status)
  return isAnswerLost(error) && !(error instanceof RESTAnswerError)
}

/** Whether the call may have been carried out all the same: nobody but a proxy has answered it, or not to its end. */
export function isAnswerLost(error: unknown): boolean {
  if (error instanceof RESTError) return [408, 502, 504].includes(error.status)
  if (!(error instanceof VCenterError) || wasTurnedAway(error)) return false
  return ['TimedOut', 'Unreachable', 'MalformedAnswer'].includes(error.reason)
}

/** Whether the object is missing, or the whole interface. */
export function isNotFound(error: unknown): boolean {
  return error instanceof RESTError && error.status === 404
}
