import { readFile } from 'node:fs/promises'
import { createApiClient } from '../servers/api-client.ts'
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
  { certificate, token }: { certificate?: CertificateFiles; token?: string },
): Promise<Sender> {
  const read = (file: string) => readFile(file, 'utf8')
  const shown = certificate && {
    cert: await read(certificate.certificateFile),
    key: await read(certificate.keyFile),
  }
  const client = createApiClient(cluster.url, await read(cluster.caFile), shown)
  return {
    async send({ method, path, body: sent, ...options }) {
      const credential = token === undefined ? {} : { token }
      const { status, body } = await client.request(method, path, sent, { ...options, ...credential })
      return { status, message: messageOf(body), body }
    },
    close: () => client.close(),
  }
}

function messageOf(body: unknown): string {
  if (typeof body === 'string') return body
  const message: unknown = Reflect.get(Object(body), 'message')
  return typeof message === 'string' ? message : ''
}
