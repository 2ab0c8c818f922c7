/** The controller's entry, and the only reader of arguments, environment, clock and randomness. */

import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { systemClock } from '../agent/shared/clock.ts'
import { escapeUnprintable, printable } from '../agent/shared/printable.ts'
import { returnFreePages } from '../agent/shared/program.ts'
import { messageOf } from '../agent/shared/result.ts'
import { VERSION } from '../agent/shared/version.ts'
import { candidates } from './cli/command-line/complete.ts'
import { HELP, helpOn } from './cli/command-line/help.ts'
import { parseCommandLine } from './cli/command-line/parse-command-line.ts'
import type { Surroundings } from './cli/commands/command.ts'
import { type Command, startCommand } from './cli/commands/table.ts'
import { helpOnFlags } from './cpi/arguments/table.ts'

const surroundings: Surroundings = {
  environment: process.env,
  clock: systemClock,
  random: Math.random,
  version: VERSION,
  hostname: hostname(),
  suffix: randomBytes(4).toString('hex'),
  memory: { resident: () => process.memoryUsage.rss(), release },
  stdin: () => process.stdin,
  stdout: process.stdout,
  warn: (message) => process.stderr.write(`${escapeUnprintable(message)}\n`),
}

function release(): number {
  // Of all threads: collections are shared among several.
  const before = process.cpuUsage()
  returnFreePages()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** Exit codes: 0 done or asked to end, 1 failed, 2 wrong command line; of `plan`, 2 where something would change. */
async function main(args: readonly string[]): Promise<number> {
  const line = parseCommandLine(args)
  switch (line.kind) {
    case 'help':
      process.stdout.write(HELP)
      return 0
    case 'help on command':
      process.stdout.write(helpOn(line.command))
      return 0
    case 'help on flags':
      process.stdout.write(helpOnFlags())
      return 0
    case 'version':
      process.stdout.write(`${VERSION}\n`)
      return 0
    case 'wrong':
      surroundings.warn(`rollcall-controller: ${line.message}`)
      return args[0] === 'plan' ? 1 : 2
    case 'complete': {
      const deadline = AbortSignal.timeout(COMPLETION_DEADLINE)
      process.stdout.write(await candidates(line.words, surroundings, deadline))
      return 0
    }
    default:
      return untilToldToEnd(line)
  }
}

/** Milliseconds for which a person waits for the names of Nodes. */
const COMPLETION_DEADLINE = 3_000
/** Longest error that a person is shown. */
const MAX_ERROR = 1024

/** Runs a command until it is told to end. What goes wrong is one sentence. */
async function untilToldToEnd(command: Command): Promise<number> {
  const ending = new AbortController()
  const end = (signal: NodeJS.Signals): void => ending.abort(new DOMException(signal, 'AbortError'))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, end)
  try {
    return await startCommand(command, surroundings, ending.signal)
  } catch (error) {
    if (!ending.signal.aborted) {
      const said = messageOf(error)
      process.stderr.write(`rollcall-controller: ${printable(said, MAX_ERROR)}\n`)
    }
    return 1
  }
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    const said = error instanceof Error ? (error.stack ?? error.message) : String(error)
    process.stderr.write(`rollcall-controller: ${escapeUnprintable(said)}\n`)
    process.exitCode = 1
  },
)
