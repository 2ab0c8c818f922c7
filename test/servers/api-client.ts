import { Agent } from 'undici'

export interface ApiRequestOptions {
  /** For patches; JSON otherwise. */
  contentType?: string
  /** Sends this bearer token and no client certificate. */
  token?: string
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
 * A plain client for what a test does itself.
 *
 * It is none of the clients under test, and it keeps quiet about what it gets: the test looks at the status.
 */
export function createApiClient(
  url: string,
  ca: string,
  client: { cert: string; key: string },
): PlainApiClient {
  const admin = new Agent({ connect: { ca, ...client } })
  const anonymous = new Agent({ connect: { ca } })
  return {
    async request<T>(method: string, path: string, body?: unknown, options: ApiRequestOptions = {}) {
      const { contentType = 'application/json', token } = options
      const response = await (token === undefined ? admin : anonymous).request({
        origin: url,
        path,
        method: method as 'GET',
        headers: {
          accept: 'application/json',
          ...(body === undefined ? {} : { 'content-type': contentType }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
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
