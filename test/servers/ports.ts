import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

/** Below the range from which the kernel takes ports for outgoing connections, so that a freed port stays free. */
const range = { from: 20_000, to: 32_000 }

/** A TCP port that refuses connections. Below 1,024, none is handed out to whoever asks for any port, so it stays closed. */
export const CLOSED_PORT = 1

/** How far apart two processes begin that were started one after the other; few need more ports. */
const APART = 20
let taken = 0

/**
 * A TCP port on loopback that nobody listens on, and that no other process is given while this one lives: a server may be
 * stopped and started again there.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = range.from + ((process.pid * APART + taken++) % (range.to - range.from))
    if ((await reserve(port)) && (await isFree(port))) return port
  }
}

/** By the UDP port of the same number, which nobody else wants, and which the kernel frees with the process. */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const lock = createSocket('udp4')
    lock.once('error', () => lock.close(() => resolve(false)))
    lock.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      lock.unref()
      resolve(true)
    })
  })
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
