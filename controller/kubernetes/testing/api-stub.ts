import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../../agent/shared/clock.ts'
import { createCertificateAuthority } from '../../../test/servers/pki.ts'
import { createKubeClient, type KubeClient } from '../client.ts'

/** A server that says what no real API server would, and a client for it. */
export interface ApiStub extends AsyncDisposable {
  readonly client: KubeClient
  readonly kubeconfig: string
  /** Connections since the start. */
  readonly connections: number
  /** `METHOD path?query` of each request. */
  readonly requests: string[]
}

export type Handler = (request: IncomingMessage, response: ServerResponse, url: URL) => void

export async function startApiStub(handler: Handler): Promise<ApiStub> {
  const requests: string[] = []
  let connections = 0
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-stub-'))
  const authority = await createCertificateAuthority(dir)
  const { certificateFile, keyFile } = await authority.serving('stub')
  const tls = { cert: await readFile(certificateFile), key: await readFile(keyFile) }
  const server = createServer(tls, (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    handler(request, response, new URL(request.url ?? '/', 'http://stub'))
  })
  server.on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the stub listens on no port')

  const kubeconfig = join(dir, 'kubeconfig')
  const cluster = {
    server: `https://127.0.0.1:${address.port}/`,
    'certificate-authority': authority.caFile,
  }
  await writeFile(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'stub', cluster }],
      users: [{ name: 'stub', user: { token: 'secret-token' } }],
      contexts: [{ name: 'stub', context: { cluster: 'stub', user: 'stub' } }],
      'current-context': 'stub',
    }),
  )
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfig },
    clock: systemClock,
    userAgent: 'test',
  })
  return {
    client,
    kubeconfig,
    requests,
    get connections() {
      return connections
    },
    async [Symbol.asyncDispose]() {
      await client.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(dir, { recursive: true })
    },
  }
}

/** Answers with JSON. */
export function answer(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}
