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
