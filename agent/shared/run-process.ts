import { type ChildProcess, spawn } from 'node:child_process'
import { codeOf } from './result.ts'

export interface ToolOptions {
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds after which the tool and its children are killed. */
  readonly timeout: number
  /** Bytes of stdout and stderr together. */
  readonly maxOutput: number
  /** Kills it earlier. */
  readonly signal: AbortSignal
}

export type ToolResult =
  | {
      readonly kind: 'ended'
      readonly code: number | null
      readonly signal: NodeJS.Signals | null
      readonly stdout: string
      readonly stderr: string
    }
  /** `code` of the system, as `ENOENT`. */
  | { readonly kind: 'not-started'; readonly code: string }
  | { readonly kind: 'too-long' }
  | { readonly kind: 'late' }

/**
 * Runs a small program, without a shell and in its own process group, which is killed as a whole. Resolves in time even if
 * the kernel cannot end the process or something outside the group keeps its output open: such a process is left behind.
 * Never rejects.
 */
export function runTool(
  tool: string,
  args: readonly string[],
  { env, timeout, maxOutput, signal }: ToolOptions,
): Promise<ToolResult> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve({ kind: 'late' })
    const child = start(tool, args, env)
    if (typeof child === 'string') return resolve({ kind: 'not-started', code: child })
    const stdout: Buffer[] = []
    const stderr: Buffer[] = []
    let length = 0
    const settle = (result: ToolResult) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve(result)
    }
    const give = (result: ToolResult) => {
      abandon(child)
      settle(result)
    }
    const end = () => give({ kind: 'late' })
    // oxlint-disable-next-line no-restricted-globals -- a tool that hangs is killed by real time, whatever clock is handed in
    const timer = setTimeout(end, timeout)
    signal.addEventListener('abort', end)
    const collect = (chunks: Buffer[]) => (chunk: Buffer) => {
      length += chunk.length
      if (length > maxOutput) give({ kind: 'too-long' })
      else chunks.push(chunk)
    }
    child.on('error', (error) => settle({ kind: 'not-started', code: codeOf(error) }))
    // Without free file descriptors there are no pipes, and the error follows.
    child.stdout?.on('data', collect(stdout))
    child.stderr?.on('data', collect(stderr))
    child.on('close', (code, killedBy) => {
      settle({ kind: 'ended', code, signal: killedBy, stdout: text(stdout), stderr: text(stderr) })
    })
  })
}

/** The error code: most errors come later as an event, some at once. */
function start(tool: string, args: readonly string[], env: ToolOptions['env']): ChildProcess | string {
  try {
    return spawn(tool, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  } catch (error) {
    return codeOf(error)
  }
}

/** Kills the group without waiting for it. */
function abandon(child: ChildProcess): void {
  for (const stream of [child.stdout, child.stderr]) stream?.destroy()
  child.unref()
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // The group has ended meanwhile, or belongs to another user and is left behind.
    if (!['ESRCH', 'EPERM'].includes(codeOf(error))) throw error
  }
}

function text(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('utf8')
}
