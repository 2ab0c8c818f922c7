/** The demo: `npm run demo`. The only reader of arguments, environment and signals. */

import { writeFile } from 'node:fs/promises'
import { stripVTControlCharacters } from 'node:util'
import { demo } from './demo.ts'
import { type DemoArguments, HELP, parseOptions } from './options.ts'
import { createRecorder, picture } from './picture.ts'
import { supervise } from './supervise.ts'
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
  // With a channel to its parent it is the one that was started by the line below.
  return process.connected ? show(line.options) : supervise(import.meta.filename, args, process)
}

async function show(options: DemoArguments): Promise<number> {
  // Each program that is started listens for the end of this process.
  process.setMaxListeners(0)
  const ending = new AbortController()
  const { signal } = ending
  process.once('disconnect', () => ending.abort(new Error('the demo was interrupted')))
  // The reader of the pipe may close it, as `head` does: then there is nobody to tell.
  process.stdout.on('error', (error) => ending.abort(error))
  const screen = createTerminal(process.stdout, process.env)
  const recorder =
    options.picture === undefined
      ? undefined
      : createRecorder((line) => screen.print(stripVTControlCharacters(line)))
  const terminal = recorder ?? screen
  signal.addEventListener('abort', () => terminal.print('', 'Stopping.'))
  try {
    const right = await demo({ options, terminal, env: process.env, signal })
    if (recorder !== undefined && options.picture !== undefined)
      await writeFile(options.picture, picture(recorder.lines()))
    return right ? 0 : 1
  } catch (error) {
    // What breaks while all ends at once is no news.
    if (signal.aborted) return 130
    process.stderr.write(`demo: ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
}

process.exit(await main(process.argv.slice(2)))
