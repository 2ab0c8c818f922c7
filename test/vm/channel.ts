import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { createInterface } from 'node:readline'

export interface ScriptResult {
  readonly code: number
  /** Standard output and error together. */
  readonly text: string
}

/** The test's end of the port by which a virtual machine runs commands; `guest/usr/local/sbin/channel` is the other. */
export interface Channel {
  /** Runs a shell script as root. Rejects where the machine ends before it answers. */
  run(script: string): Promise<ScriptResult>
  /** Resolves with the boot ID once the machine says that it is up. */
  booted(): Promise<string>
  close(): void
}

/** Connects to QEMU's socket at `path`, which is there. */
export async function openChannel(path: string): Promise<Channel> {
  const socket = createConnection(path)
  await once(socket, 'connect')
  return channelOver(socket)
}

function channelOver(socket: Socket): Channel {
  const waiting = new Map<number, PromiseWithResolvers<ScriptResult>>()
  const boot = Promise.withResolvers<string>()
  let number = 0
  const fail = (error: Error) => {
    for (const { reject } of waiting.values()) reject(error)
    waiting.clear()
    boot.promise.catch(() => undefined)
    boot.reject(error)
  }
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the virtual machine has ended')))
  createInterface(socket).on('line', (line) => {
    const [first = '', second = '', text = ''] = line.split(' ')
    if (first === 'hello') return boot.resolve(second)
    const answered = waiting.get(Number(first))
    waiting.delete(Number(first))
    answered?.resolve({ code: Number(second), text: Buffer.from(text, 'base64').toString() })
  })
  return {
    run(script) {
      number += 1
      const answer = Promise.withResolvers<ScriptResult>()
      waiting.set(number, answer)
      socket.write(`${number} ${Buffer.from(script).toString('base64')}\n`)
      return answer.promise
    },
    booted: () => boot.promise,
    close: () => socket.destroy(),
  }
}
