import { randomUUID } from 'node:crypto'
import { access, link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

/** Runs a tool of this repository as a program: a failure is one sentence and exit code 1, without a stack. */
export function runAsProgram(work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
}

const quietInterval = 20_000

/**
 * Shows on stderr that something slow is running: one line with the seconds where there is a terminal, else a line at the
 * start, every 20 seconds and at the end. Returns a function that ends it with a word on the outcome.
 */
export function showProgress(
  what: string,
  stream: NodeJS.WriteStream = process.stderr,
): (outcome: string) => void {
  const start = Date.now()
  const elapsed = () => `${Math.round((Date.now() - start) / 1000)} s`
  const line = stream.isTTY
    ? () => stream.write(`\r\x1b[K${what} ... ${elapsed()}`)
    : () => stream.write(`${what} ... ${elapsed()}\n`)
  line()
  const timer = setInterval(line, stream.isTTY ? 1000 : quietInterval)
  timer.unref()
  return (outcome) => {
    clearInterval(timer)
    stream.write(`${stream.isTTY ? '\r\x1b[K' : ''}${what}: ${outcome} in ${elapsed()}\n`)
  }
}

/**
 * Runs `work` while this process holds the lock file at `path`; waits while another living process holds it.
 *
 * Node has no flock, so the file names its holder, and one whose holder is gone is taken over. Two that take over the
 * same lock at the same moment can both get it: the work must bear being done twice. An abort ends the waiting; what the
 * work makes of it is its own affair.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  const mine = `${path}.${randomUUID()}`
  await writeFile(mine, String(process.pid))
  try {
    while (!(await acquire(mine, path))) await sleep(200, undefined, { signal })
    try {
      return await work()
    } finally {
      await rm(path, { force: true })
    }
  } finally {
    await rm(mine, { force: true })
  }
}

/** @param mode as that of `access` of `node:fs`; by default, whether it is there */
export async function canAccess(path: string, mode?: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  )
}

/** Links rather than creates, so that no one ever reads a lock without its holder's number. */
async function acquire(mine: string, path: string): Promise<boolean> {
  try {
    await link(mine, path)
    return true
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  }
  const holder = Number(await readFile(path, 'utf8').catch(() => ''))
  if (!holder || alive(holder)) return false
  // Whoever renames the dead lock away may try again; the others find nothing to rename.
  await rename(path, `${mine}.dead`).catch(() => undefined)
  await rm(`${mine}.dead`, { force: true })
  return false
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return !hasCode(error, 'ESRCH')
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
