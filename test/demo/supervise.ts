import { spawn } from 'node:child_process'

/**
 * Runs `script` in a process group of its own, so that a Ctrl-C does not strike all that it starts at once and in no
 * order; resolves with its exit code.
 *
 * It is told to end by its channel being closed: by a signal to this process, or by this process being killed.
 */
export function supervise(
  script: string,
  args: readonly string[],
  self: Pick<NodeJS.Process, 'execPath' | 'on'>,
): Promise<number> {
  const child = spawn(self.execPath, [script, ...args], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // More than one may come, from the terminal and from npm; they all say the same.
    self.on(signal, () => {
      if (child.connected) child.disconnect()
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}
