/** No answer, or not one of an API server; `code` comes from the system, TLS or HTTP. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly code: string

  constructor(message: string, code: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
  }
}
