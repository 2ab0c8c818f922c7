import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createClusterPool, type PoolCounts, type PooledCluster } from './clusters.ts'
import { DONE, type Loan } from './protocol.ts'

export interface Lender extends AsyncDisposable {
  /** A port on loopback. */
  readonly port: number
  readonly counts: PoolCounts
}

/**
 * Lends clusters to other processes: who connects, gets one, and has it until the connection closes. However a process
 * ends, the kernel closes its connections.
 */
export async function startLender(): Promise<Lender> {
  const counts: PoolCounts = { booted: 0, lent: 0, discarded: [] }
  const pool = createClusterPool(counts)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    void serve(socket).finally(() => sockets.delete(socket))
  })

  async function serve(socket: Socket): Promise<void> {
    let said = ''
    socket.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    // Followed by its close, which is all that counts.
    socket.on('error', () => undefined)
    let one: PooledCluster
    try {
      one = await pool.take()
    } catch (error) {
      answer(socket, { error: error instanceof Error ? error.message : String(error) })
      return
    }
    if (socket.destroyed) {
      pool.giveBack(one)
      return
    }
    counts.lent += 1
    const dir = await mkdtemp(join(one.cluster.dir, 'user-'))
    const { url, caFile, caKeyFile, tokenKeyFile } = one.cluster
    answer(socket, { files: { url, caFile, caKeyFile, tokenKeyFile }, dir })
    await closed
    if (said === DONE) pool.giveBack(one)
    else pool.discard(one, 'its test ended without giving it back')
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    counts,
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await pool[Symbol.asyncDispose]()
    },
  }
}

function answer(socket: Socket, loan: Loan): void {
  socket.write(`${JSON.stringify(loan)}\n`)
}
