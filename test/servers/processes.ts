import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { PATIENCE } from '../fixtures/until.ts'

export interface ServerOptions {
  /** The name in messages. */
  name: string
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  /**
   * A folder that the server removes when the process that started it is gone. Only our own builds know how, and only
   * one server of a group may be told: the last that needs it.
   */
  removes?: string
  /** Resolves once the server answers, or throws to be asked again. Without it the server is ready at its first line. */
  ready?: () => Promise<void>
}

export interface Server {
  pid: number
  /** The first line on standard output, for servers that announce themselves. */
  firstLine: string
  /** The last lines that the server wrote, for error messages. */
  log(): string
  /** Resolves when the process has ended. */
  ended: Promise<void>
  /** Asks the server to end, insists after `within` milliseconds, and resolves when it is gone. */
  stop(within?: number): Promise<void>
}

const keptLines = 200

/**
 * Servers in Go collect garbage when the heap has grown to five times what is live, not to twice: a quarter less processor
 * time of each, for some 100 MB more of an API server. The limit is more than any of them needs: at 1 GiB, an API server
 * with 5,000 Nodes did little but collect garbage.
 */
const garbageCollection = { GOGC: '400', GOMEMLIMIT: '4GiB' }

/**
 * Starts a server and resolves when it is ready; fails with the end of its log when it ends before that or is late.
 *
 * The server's standard input stays open as long as this process lives. Our builds end when it closes, so that not even
 * a killed test leaves a server behind.
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const { name, command, args } = options
  const child = spawn(command, args, {
    env: {
      ...garbageCollection,
      ...(options.env ?? process.env),
      ROLLCALL_LIFELINE: '1',
      ...(options.removes ? { ROLLCALL_LIFELINE_REMOVES: options.removes } : {}),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const keep = (line: string) => {
    lines.push(line)
    if (lines.length > keptLines) lines.shift()
  }
  // Ends with the server; a broken pipe on the way there is no news.
  child.stdin.on('error', () => undefined)
  const firstLine = new Promise<string>((resolve) => {
    createInterface(child.stdout).once('line', resolve).on('line', keep)
  })
  createInterface(child.stderr).on('line', keep)
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve())
    child.once('error', (error) => {
      keep(error.message)
      resolve()
    })
  })
  const log = () => lines.join('\n')

  const fail = (why: string): never => {
    throw new Error(`${name} ${why}:\n${log()}`)
  }

  const waiting = new AbortController()
  try {
    await Promise.race([
      options.ready ? poll(options.ready, waiting.signal) : firstLine,
      ended.then(() => fail('ended before it was ready')),
      sleep(PATIENCE, undefined, { signal: waiting.signal }).then(() =>
        fail(`was not ready in ${PATIENCE} ms`),
      ),
    ])
  } catch (error) {
    await stop(child, ended, 0)
    throw error
  } finally {
    waiting.abort()
  }
  return {
    pid: child.pid ?? 0,
    firstLine: options.ready ? '' : await firstLine,
    log,
    ended,
    stop: (within = 10_000) => stop(child, ended, within),
  }
}

async function poll(ready: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      return await ready()
    } catch {
      await sleep(50)
    }
  }
}

async function stop(child: ChildProcess, ended: Promise<void>, within: number): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), within)
  await ended
  clearTimeout(timer)
}
