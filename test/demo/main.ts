/** The demo: `npm run demo`. The only reader of arguments, environment and signals. */
import { demo } from './demo.ts'
import { HELP, parseOptions } from './options.ts'
import { createTerminal } from './terminal.ts'

/** Exit codes: 0 all as it should be, 1 not, 2 wrong options, 130 interrupted. */
async function main(args: readonly string[]): Promise<number> {
  const line = parseOptions(args)
  if (line.kind === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (line.kind === 'wrong') {
    process.stderr.write(`demo: ${line.message}\n`)
    return 2
  }
  const ending = new AbortController()
  const { signal } = ending
  const terminal = createTerminal(process.stdout, process.env)
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // More than one may come, from the terminal and from npm; they all say the same.
    process.on(name, () => ending.abort(new Error(`ended by ${name}`)))
  }
  // Whoever reads may go away, as head does; there is nobody left to tell then.
  process.stdout.on('error', (error) => ending.abort(error))
  try {
    return (await demo({ options: line.options, terminal, env: process.env, signal })) ? 0 : 1
  } catch (error) {
    // What breaks while all ends at once is no news.
    if (signal.aborted) return 130
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}

process.exit(await main(process.argv.slice(2)))
