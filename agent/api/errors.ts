/** The API server answered, with another status than 2xx. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number
  /** `reason` of the Status object, as `Forbidden`; empty where the answer was none. */
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

/** The API server did not answer, or not as one; `code` is the system's, TLS's or HTTP's. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly code: string

  constructor(message: string, code: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
  }
}
