import { readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createCertificateAuthority } from './pki.ts'
import { openSoap } from './soap.ts'
import type { Vcsim } from './vcsim.ts'

/** Answers a request in place of the session manager. */
export type Misbehave = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A session manager as the CPI's docs have one: it keeps a session with a vCenter, and for its token gives out clone tickets.
 */
export interface SessionManager extends AsyncDisposable {
  /** As "https://127.0.0.1:port/session". */
  readonly url: string
  readonly caFile: string
  /** What it takes now. */
  token: string
  misbehave: Misbehave | undefined
  /** What came as `Authorization`, one for each request. */
  readonly authorizations: readonly (string | undefined)[]
  /** Those that it gave out. */
  readonly tickets: readonly string[]
  stop(): Promise<void>
}

export interface SessionManagerOptions {
  readonly vcsim: Vcsim
  /** For its certificates. */
  readonly dir: string
  readonly token: string
}

export async function startSessionManager({
  vcsim,
  dir,
  token,
}: SessionManagerOptions): Promise<SessionManager> {
  const { caFile, serving } = await createCertificateAuthority(dir)
  const { certificateFile, keyFile } = await serving('session-manager')
  const soap = await openSoap(vcsim)
  const authorizations: (string | undefined)[] = []
  const tickets: string[] = []
  const server = createServer(
    { cert: await readFile(certificateFile), key: await readFile(keyFile) },
    (request, response) => {
      authorizations.push(request.headers.authorization)
      if (self.misbehave !== undefined) return self.misbehave(request, response)
      void answer(request, response)
    },
  )

  async function answer({ method, url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (method !== 'GET' || url !== '/session') return void response.writeHead(404).end()
    if (headers.authorization !== `Bearer ${self.token}`) return void response.writeHead(401).end()
    const ticket = await acquireTicket()
    if (ticket === undefined) return void response.writeHead(403).end()
    tickets.push(ticket)
    response.end(JSON.stringify({ token: ticket }))
  }

  /** Logs in first where it has no session, or has lost it. */
  async function acquireTicket(): Promise<string | undefined> {
    const acquire = async () => {
      const manager = { type: 'SessionManager', ref: 'SessionManager' }
      const { text } = await soap.call('AcquireCloneTicket', manager)
      return /<returnval>([^<]+)</.exec(text)?.[1]
    }
    const ticket = await acquire()
    if (ticket !== undefined) return ticket
    await soap.login()
    return await acquire()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await soap[Symbol.asyncDispose]()
  }
  const self: SessionManager = {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/session`,
    caFile,
    token,
    misbehave: undefined,
    authorizations,
    tickets,
    stop,
    [Symbol.asyncDispose]: stop,
  }
  return self
}
