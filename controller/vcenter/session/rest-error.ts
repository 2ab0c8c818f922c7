/** What the REST interface answers other than success. */
import type { FailureReason } from '../../types/reasons.ts'
import { VCenterError } from '../wire/errors.ts'

const REASON_OF: Readonly<Record<number, FailureReason>> = {
  401: 'SessionLost',
  403: 'NoPermission',
  504: 'TimedOut',
}

/** An answer with a status other than 2xx. */
export class RESTError extends VCenterError {
  readonly status: number

  constructor(server: string, resource: string, status: number) {
    super(REASON_OF[status] ?? 'Unavailable', `${server} answers to ${resource} with HTTP status ${status}`)
    this.name = 'RESTError'
    this.status = status
  }
}

/** Whether the error is about the requested objects or tags, not about the state of vCenter. */
export function isRESTRefusal(error: unknown): error is RESTError {
  return (
    error instanceof RESTError &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 408, 429].includes(error.status)
  )
}

/** Whether the call may have been carried out all the same: nobody but a proxy has answered it, or not to its end. */
export function isAnswerLost(error: unknown): boolean {
  if (error instanceof RESTError) return error.status === 502 || error.status === 504
  return (
    error instanceof VCenterError && ['TimedOut', 'Unreachable', 'MalformedAnswer'].includes(error.reason)
  )
}

/** Whether the object is missing, or the whole interface. */
export function isNotFound(error: unknown): boolean {
  return error instanceof RESTError && error.status === 404
}
