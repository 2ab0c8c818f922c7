import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Agent } from 'undici'
import { createCertificateAuthority } from '../servers/pki.ts'
import type { Vcsim } from '../servers/vcsim.ts'

/** One WaitForUpdatesEx; times by `performance.now()`. */
export interface Poll {
  readonly openedAt: number
  /** When its answer had arrived whole, before it went on to the client. */
  readonly answeredAt: number
  /** References of the VMs that it speaks of. */
  readonly vms: ReadonlySet<string>
}

/** A proxy before vCenter, which notes what long polls bring and when. */
export interface VCenterGauge extends AsyncDisposable {
  /** The simulator by way of the proxy. */
  readonly vcsim: Vcsim
  /** Those with an answer, in the order of these. */
  readonly polls: readonly Poll[]
}

/** @param dir for its certificate */
export async function startVCenterGauge(vcsim: Vcsim, dir: string): Promise<VCenterGauge> {
  const files = join(dir, 'gauge')
  await mkdir(files)
  const ca = await createCertificateAuthority(files)
  const serving = await ca.serving('gauge')
  const agent = new Agent({
    connect: { ca: await readFile(vcsim.certificateFile, 'utf8') },
    bodyTimeout: 0,
    headersTimeout: 0,
  })
  const polls: Poll[] = []

  async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const openedAt = performance.now()
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const body = await bytesOf(request)
    const answer = await agent.request({
      origin: vcsim.url,
      path: request.url ?? '/',
      method: request.method === 'GET' ? 'GET' : request.method === 'DELETE' ? 'DELETE' : 'POST',
      headers: endToEnd(request.headers),
      body: body.length > 0 ? body : null,
      signal: gone.signal,
    })
    const content = Buffer.from(await answer.body.bytes())
    if (body.includes('<WaitForUpdatesEx')) {
      const vms = new Set(Array.from(content.toString().matchAll(/>(vm-\d+)</g), ([, ref = '']) => ref))
      polls.push({ openedAt, answeredAt: performance.now(), vms })
    }
    response.writeHead(answer.statusCode, endToEnd(answer.headers))
    response.end(content)
  }

  const server = createServer({
    cert: await readFile(serving.certificateFile),
    key: await readFile(serving.keyFile),
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // The client has gone, or vCenter has: either way there is nobody to tell but by the connection.
    pass(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    vcsim: { ...vcsim, port, url: `https://127.0.0.1:${port}`, certificateFile: ca.caFile },
    polls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await agent.destroy()
    },
  }
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Without those that speak of one connection only, or of how the body was packed. */
const HOP_BY_HOP = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
])

function endToEnd(headers: NodeJS.Dict<string | string[]>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.has(name) ? [] : [[name, value]],
    ),
  )
}
