/** Runs a tool of this repository as a program: a failure is one sentence and exit code 1, without a stack. */
export function runAsProgram(work: () => Promise<void>): void {
  work().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  })
}
