import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/**
 * What becomes of the bytes between one client and the API server:
 *
 * - works: they pass, `delay` milliseconds later
 * - cut: connections break, new ones as soon as they are made
 * - lost: nothing arrives, in either direction, and nobody is told; what was sent arrives when it works again
 * - deaf: requests arrive, answers do not, until it works again
 * - mute: the other way round, and so for what the server pushes
 */
export type LineState = 'works' | 'cut' | 'lost' | 'deaf' | 'mute'

/** A TCP proxy in front of an API server, whose certificate is good for it too. */
export interface ApiProxy {
  readonly url: string
  set(line: LineState, delay?: number): void
  /** Breaks all connections; new ones lead to another server, which must show a certificate of its own that is trusted. */
  leadTo(target: string): void
  /** Pieces of requests that are on their way. */
  held(): number
  close(): Promise<void>
}

export async function startApiProxy(target: string): Promise<ApiProxy> {
  let end = new URL(target)
  const sockets = new Set<Socket>()
  const waiting = new Set<() => void>()
  const closing = new AbortController()
  let line: LineState = 'works'
  let delay = 0
  let held = 0

  /** Resolves when bytes in this direction may pass. */
  async function passes(direction: 'request' | 'answer'): Promise<void> {
    while (line === 'lost' || line === (direction === 'answer' ? 'deaf' : 'mute')) {
      await new Promise<void>((resolve) => waiting.add(resolve))
    }
  }

  /** In order: each piece leaves when its time has come and all before it have left. */
  function forward(from: Socket, to: Socket, direction: 'request' | 'answer'): void {
    let last: Promise<unknown> = Promise.resolve()
    const then = (act: () => void) => {
      const due = delay === 0 ? undefined : pause(delay, closing.signal)
      if (direction === 'request') held += 1
      last = last
        .then(() => due)
        .then(() => passes(direction))
        .then(() => {
          if (direction === 'request') held -= 1
          if (!to.destroyed) act()
        })
    }
    from.on('data', (piece: Buffer) => then(() => to.write(piece)))
    from.on('end', () => then(() => to.end()))
  }

  function keep(socket: Socket, other: () => Socket): void {
    sockets.add(socket)
    // A connection that breaks is what this is about.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      // What was sent before is still on its way, as on a real line.
      if (line === 'works' && delay === 0) other().destroy()
    })
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ host: end.hostname, port: Number(end.port), allowHalfOpen: true })
    keep(client, () => upstream)
    keep(upstream, () => client)
    if (line === 'cut') {
      client.resetAndDestroy()
      upstream.destroy()
      return
    }
    forward(client, upstream, 'request')
    forward(upstream, client, 'answer')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy listens on no port')

  function wake(): void {
    const all = [...waiting]
    waiting.clear()
    for (const resolve of all) resolve()
  }

  return {
    url: `https://127.0.0.1:${address.port}`,
    set(next, ms = 0) {
      line = next
      delay = ms
      if (line === 'cut') for (const socket of sockets) socket.resetAndDestroy()
      wake()
    },
    leadTo(target) {
      end = new URL(target)
      for (const socket of sockets) socket.resetAndDestroy()
    },
    held: () => held,
    async close() {
      line = 'works'
      closing.abort()
      wake()
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Resolves after so many milliseconds, or when it is over. */
function pause(ms: number, over: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      over.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    over.addEventListener('abort', done, { once: true })
  })
}
