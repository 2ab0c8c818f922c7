import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the range from which the kernel takes ports for outgoing connections, so that a freed port stays free. */
const range = { from: 20_000, to: 32_000 }

/** A TCP port that refuses connections. Below 1,024, none is handed out to whoever asks for any port, so it stays closed. */
export const CLOSED_PORT = 1

/** A TCP port on loopback that nobody listens on yet. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(range.from, range.to)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
