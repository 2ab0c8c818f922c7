/** The API server answered with a status other than 2xx. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** `reason` of the Status object, as `Forbidden`; empty where the answer was not a Status. */
  readonly reason: string
  /** Seconds from `Retry-After`. */
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, answer: { message: string; reason: string }, retryAfter: number | undefined) {
    super(answer.message)
    this.status = status
    this.reason = answer.reason
    this.retryAfterSeconds = retryAfter
  }
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
