import { readFile } from 'node:fs/promises'
import { Agent } from 'undici'
import type { Cluster } from '../servers/cluster.ts'
import type { CertificateFiles } from '../servers/pki.ts'

export interface AttackRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  /** JSON unless given; patches need one. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** What the API server said; `message` is that of a Status, else empty. */
export interface Answer {
  readonly status: number
  readonly message: string
  /** Parsed where it is JSON. */
  readonly body: unknown
}

/** Somebody who sends requests, whatever headers they need. */
export interface Sender {
  send(attempt: AttackRequest): Promise<Answer>
  close(): Promise<void>
}

/** A sender with a client certificate, a bearer token, or neither. */
export async function openSender(
  cluster: Cluster,
  credential: { certificate?: CertificateFiles; token?: string },
): Promise<Sender> {
  const { certificate, token } = credential
  const client =
    certificate === undefined
      ? {}
      : {
          cert: await readFile(certificate.certificateFile, 'utf8'),
          key: await readFile(certificate.keyFile, 'utf8'),
        }
  const agent = new Agent({ connect: { ca: await readFile(cluster.caFile, 'utf8'), ...client } })
  return {
    async send({ method, path, body, contentType = 'application/json', headers = {} }) {
      const response = await agent.request({
        origin: cluster.url,
        path,
        method,
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
      const answer: unknown = json ? JSON.parse(text) : text
      return { status: response.statusCode, message: messageOf(answer), body: answer }
    },
    close: () => agent.destroy(),
  }
}

function messageOf(body: unknown): string {
  if (typeof body === 'string') return body
  const message: unknown = Reflect.get(Object(body), 'message')
  return typeof message === 'string' ? message : ''
}

/** Text and bytes as they are, all else as JSON. */
function encoded(body: unknown): string | Buffer | null {
  if (body === undefined) return null
  return typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
}
