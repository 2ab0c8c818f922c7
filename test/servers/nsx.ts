/**
 * The part of NSX's Policy API that the vSphere CPI calls for Services and routes. What is written is realized at once. No real
 * NSX was at hand: it shows what the CPI sends, not what NSX makes of it.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createCertificateAuthority } from './pki.ts'

/** As the Policy API has it: whatever was sent, and what the server adds. */
export type NSXObject = Readonly<Record<string, unknown>>

export interface NSX {
  /** As the CPI's file has it: `127.0.0.1:1234`. */
  readonly host: string
  /** What there is in a collection such as `lb-pools`. */
  objects(collection: string): readonly NSXObject[]
  stop(): Promise<void>
}

const INFRA = '/policy/api/v1/infra'
const COLLECTIONS: ReadonlySet<string> = new Set([
  ...['lb-services', 'lb-virtual-servers', 'lb-pools', 'lb-monitor-profiles', 'lb-app-profiles'],
  ...['ip-pools', 'ip-allocations', 'static-routes'],
])

/** @param dir for its certificate, which nobody trusts */
export async function startNSX(dir: string): Promise<NSX> {
  const { serving } = await createCertificateAuthority(dir)
  const { certificateFile, keyFile } = await serving('nsx')
  const tls = { cert: await readFile(certificateFile), key: await readFile(keyFile) }
  const stored = new Map<string, NSXObject>()
  const addresses = new Map<string, string>()
  const within = (collection: string) =>
    [...stored].flatMap(([path, object]) => (path.split('/').at(-2) === collection ? [object] : []))

  function answer(method: string, url: URL, body: string): { status: number; object?: object } {
    const list = (results: readonly object[]) => ({
      status: 200,
      object: { results, result_count: results.length },
    })
    if (url.pathname.endsWith('/search/query')) return list(within('static-routes'))
    const path = url.pathname.slice(INFRA.length)
    if (path === '/realized-state/realized-entities')
      return list(realized(url.searchParams.get('intent_path')))
    const name = path.split('/').at(-1) ?? ''
    if (COLLECTIONS.has(name)) return list(within(name))
    const before = stored.get(path)
    if (method === 'PUT' || method === 'PATCH') {
      const revision = typeof before?._revision === 'number' ? before._revision + 1 : 0
      const object = { ...JSON.parse(body), id: name, path: `/infra${path}`, _revision: revision }
      stored.set(path, object)
      return { status: 200, object }
    }
    if (method === 'DELETE') stored.delete(path)
    return before === undefined
      ? { status: 404, object: { httpStatus: 'NOT_FOUND', error_code: 600, error_message: `no ${path}` } }
      : { status: 200, object: before }
  }

  /** An allocation has an address of its own. */
  function realized(path: string | null): readonly object[] {
    if (path === null || !stored.has(path.replace('/infra', ''))) return []
    const address = addresses.get(path) ?? `203.0.113.${addresses.size + 1}`
    if (path.includes('/ip-allocations/')) addresses.set(path, address)
    const extended_attributes = [{ key: 'allocation_ip', values: [address] }]
    return [{ state: 'REALIZED', intent_paths: [path], extended_attributes }]
  }

  const server = createServer(tls, (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '/', 'https://nsx')
      const { status, object } = answer(request.method ?? '', url, Buffer.concat(chunks).toString())
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(object ?? {}))
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A TCP server's address is not text.
  const { port } = server.address() as AddressInfo
  return {
    host: `127.0.0.1:${port}`,
    objects: within,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
