import * as v from 'valibot'
import { ApiError } from '../../agent/shared/api-error.ts'
import { API_GROUP } from '../../agent/shared/node-report.ts'
import { messageOf } from '../../agent/shared/result.ts'

const Status = v.object({
  kind: v.literal('Status'),
  message: v.optional(v.string(), ''),
  reason: v.optional(v.string(), ''),
  code: v.optional(v.number()),
})

/** Longest message that is kept: a proxy may answer with a whole page. */
const MAX_MESSAGE = 500

/**
 * Builds the error for an unsuccessful answer.
 *
 * @param what the request, as `PATCH /api/v1/nodes/a`, for the message
 * @param body undefined where it was too long to be read
 * @param retryAfter the header of that name: seconds, the only form that the API server uses
 */
export function apiError(
  what: string,
  status: number,
  body: string | undefined,
  retryAfter?: string,
): ApiError {
  const parsed = v.safeParse(Status, parseJson(body ?? ''))
  const { message, reason } = parsed.success ? parsed.output : { message: '', reason: '' }
  const said = (message || `${body?.length ?? 'too many'} characters that are not a Status`).slice(
    0,
    MAX_MESSAGE,
  )
  const seconds = Number(retryAfter)
  return new ApiError(`${what} was answered with ${status}${reason && ` ${reason}`}: ${said}`, {
    status,
    reason,
    retryAfter: retryAfter !== undefined && seconds >= 0 ? seconds * 1000 : undefined,
  })
}

/** Describes a Status object inside an answer, as in a watch's ERROR event. */
export function apiStatus(object: unknown): string {
  const parsed = v.safeParse(Status, object)
  if (!parsed.success) return 'an error that is not a Status'
  const { code = '', reason, message } = parsed.output
  return `${code} ${reason}: ${message.slice(0, MAX_MESSAGE)}`.trim()
}

/** Whether this is the API server's answer with this HTTP status. */
export function hasStatus(error: unknown, status: number): boolean {
  return error instanceof ApiError && error.status === status
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON, so not a Status either: the caller handles that.
    return undefined
  }
}

/** Why something cannot be read from the API server, in one sentence with the next step, for the person who runs a command. */
export function unread(what: string, error: unknown): string {
  const said = messageOf(error)
  return `${what} cannot be read: ${said}${next(said, error)}`
}

function next(said: string, error: unknown): string {
  if (hasStatus(error, 401))
    return '; the credential has expired or is for another cluster: check --kubeconfig'
  if (hasStatus(error, 403)) return '; docs/explain.md lists the rights that are needed'
  if (hasStatus(error, 404) && said.includes(`/apis/${API_GROUP}/`))
    return '; the CRD is not there: apply the manifests of Rollcall'
  return /failed:/.test(said)
    ? '; check that the API server of this kubeconfig answers: kubectl get nodes'
    : ''
}
