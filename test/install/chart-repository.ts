import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createProxy } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import type { CertificateAuthority } from '../servers/pki.ts'

interface ChartRepository {
  /** By these variables Helm finds it under its public address. */
  readonly environment: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** Serves the CPI's charts as its project does, from a folder whose files `helm repo index` has listed. */
export async function serveCharts(folder: string, ca: CertificateAuthority): Promise<ChartRepository> {
  const { certificateFile, keyFile } = await ca.serving('charts', ['kubernetes.github.io'])
  const files = createServer(
    { cert: await readFile(certificateFile), key: await readFile(keyFile) },
    (request, response) => {
      readFile(join(folder, basename(request.url ?? ''))).then(
        (content) => response.end(content),
        () => response.writeHead(404).end(),
      )
    },
  )
  const proxy = createProxy().on('connect', ({ url }, socket) => {
    if (url !== 'kubernetes.github.io:443') {
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
      return
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    files.emit('connection', socket)
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  // A TCP server's address is not text.
  const { port } = proxy.address() as AddressInfo
  return {
    environment: { HTTPS_PROXY: `http://127.0.0.1:${port}`, SSL_CERT_FILE: ca.caFile },
    async close() {
      const closed = once(proxy, 'close')
      proxy.close()
      proxy.closeAllConnections()
      files.closeAllConnections()
      await closed
    },
  }
}
