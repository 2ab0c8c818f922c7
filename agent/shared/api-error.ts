/** The API server answered with a status other than 2xx. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  /** HTTP status. */
  readonly status: number
  /** `Status.reason`, as `NotFound`, `Conflict`, `Expired`; empty where the answer was not a Status. */
  readonly reason: string
  /** How long the server asks to wait, milliseconds. */
  readonly retryAfter: number | undefined

  constructor(message: string, facts: { status: number; reason: string; retryAfter?: number | undefined }) {
    super(message)
    this.status = facts.status
    this.reason = facts.reason
    this.retryAfter = facts.retryAfter
  }
}
