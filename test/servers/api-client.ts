import { Agent } from 'undici'

export interface ApiRequestOptions {
  /** For patches; JSON otherwise. */
  contentType?: string
  /** Sends this bearer token and no client certificate. */
  token?: string
  headers?: Readonly<Record<string, string>>
}

export interface ApiResponse<T = unknown> {
  status: number
  /** Parsed where it is JSON, else the text. */
  body: T
}

export interface PlainApiClient {
  request<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    options?: ApiRequestOptions,
  ): Promise<ApiResponse<T>>
  close(): Promise<void>
}

/**
 * A plain client for what a test does itself; without a certificate it is nobody.
 *
 * It is none of the clients under test, and it keeps quiet about what it gets: the test looks at the status.
 */
export function createApiClient(
  url: string,
  ca: string,
  client: { cert: string; key: string } | undefined,
): PlainApiClient {
  const admin = new Agent({ connect: { ca, ...client } })
  const anonymous = new Agent({ connect: { ca } })
  return {
    async request<T>(method: string, path: string, body?: unknown, options: ApiRequestOptions = {}) {
      const { contentType = 'application/json', token, headers } = options
      const response = await (token === undefined ? admin : anonymous).request({
        origin: url,
        path,
        method: method as 'GET',
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': contentType }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: encoded(body),
      })
      const text = await response.body.text()
      const json = String(response.headers['content-type']).startsWith('application/json')
      return { status: response.statusCode, body: (json ? JSON.parse(text) : text) as T }
    },
    async close() {
      await Promise.all([admin.destroy(), anonymous.destroy()])
    },
  }
}

/** Text and bytes as they are, all else as JSON. */
function encoded(body: unknown): string | Buffer | null {
  if (body === undefined) return null
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}
