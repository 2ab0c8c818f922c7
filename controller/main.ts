/** The controller's entry, and the only reader of arguments, environment, clock and randomness. */
import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { systemClock } from '../agent/shared/clock.ts'
import { escapeUnprintable, printable } from '../agent/shared/printable.ts'
import { returnFreePages } from '../agent/shared/return-free-pages.ts'
import { VERSION } from '../agent/shared/version.ts'
import { complete } from './cli/command-line/complete.ts'
import { completionScript } from './cli/command-line/completion-script.ts'
import { HELP } from './cli/command-line/help.ts'
import { parseCommandLine } from './cli/command-line/parse-command-line.ts'
import {
  type Surroundings,
  showDoctor,
  showExplanation,
  showPlan,
  showStatus,
} from './cli/commands/answers.ts'
import { completion } from './cli/commands/completion.ts'
import { configSource, prepare } from './cli/commands/prepare.ts'
import { run } from './cli/commands/run.ts'
import type { RunFlags } from './cli/options.ts'
import { helpOnFlags } from './cpi/arguments/help.ts'
import { controllerCredentials } from './kubernetes/credentials.ts'
import { createLogger } from './lib/log.ts'
import { createMetrics } from './telemetry/metrics.ts'

/** Exit codes: 0 done or asked to end, 1 failed, 2 wrong command line; of `plan`, 2 where something would change. */
async function main(args: readonly string[]): Promise<number> {
  const line = parseCommandLine(args)
  switch (line.kind) {
    case 'help':
      process.stdout.write(HELP)
      return 0
    case 'help on flags':
      process.stdout.write(helpOnFlags())
      return 0
    case 'version':
      process.stdout.write(`${VERSION}\n`)
      return 0
    case 'wrong':
      process.stderr.write(`rollcall-controller: ${escapeUnprintable(line.message)}\n`)
      return args[0] === 'plan' ? 1 : 2
    case 'run':
      return start(line.options)
    case 'plan':
      return answer((signal) => showPlan(line.options, surroundings, signal))
    case 'completion':
      process.stdout.write(completionScript(line.shell))
      return 0
    case 'complete':
      process.stdout.write(
        await completion(complete(line.words), {
          env: process.env,
          version: VERSION,
          clock: systemClock,
          signal: AbortSignal.timeout(COMPLETION_DEADLINE),
        }),
      )
      return 0
    case 'explain':
      return answer((signal) => showExplanation(line.options, surroundings, signal))
    case 'status':
      return answer((signal) => showStatus(line.options, surroundings, signal))
    case 'doctor':
      return answer((signal) => showDoctor(line.options, surroundings, signal))
  }
}

/** Milliseconds for which a person waits for the names of Nodes. */
const COMPLETION_DEADLINE = 3_000
/** Longest error that a person is shown. */
const MAX_ERROR = 1024

const surroundings: Surroundings = {
  environment: process.env,
  clock: systemClock,
  random: Math.random,
  version: VERSION,
  stdout: process.stdout,
  warn: (message) => process.stderr.write(`${escapeUnprintable(message)}\n`),
}

/** Runs what answers a person until it is told to end. What goes wrong is one sentence. */
async function answer(work: (signal: AbortSignal) => Promise<number>): Promise<number> {
  const ending = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => ending.abort())
  try {
    return await work(ending.signal)
  } catch (error) {
    if (!ending.signal.aborted) {
      const said = error instanceof Error ? error.message : String(error)
      process.stderr.write(`rollcall-controller: ${printable(said, MAX_ERROR)}\n`)
    }
    return 1
  }
}

async function start(options: RunFlags): Promise<number> {
  const logger = createLogger({ level: options.logLevel, now: systemClock.now })
  const source = configSource(options.config, process.env, options.cpi?.given)
  const prepared = await prepare(source, controllerCredentials(options, process.env))
  if (!prepared.ok) {
    process.stderr.write(`${escapeUnprintable(prepared.message)}\n`)
    return prepared.exitCode
  }
  const { config, credentials } = prepared.value
  const { loaded } = config
  for (const { isWarning, message } of options.cpi?.notices ?? [])
    logger[isWarning ? 'warn' : 'info']({ notice: message }, 'command line')
  for (const warning of loaded.warnings) logger.warn({ warning }, 'configuration')

  const ending = new AbortController()
  const end = (signal: NodeJS.Signals): void => {
    logger.info({ signal }, 'ending')
    ending.abort()
  }
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
  logger.info({ version: VERSION, vCenters: loaded.config.vCenters.map(({ name }) => name) }, 'starting')
  try {
    await run(
      {
        config,
        credentials,
        lease: {
          namespace: options.leaseNamespace,
          name: options.leaseName,
          ...(options.cpi === undefined ? {} : { timing: options.cpi.timing }),
        },
        ...(options.cpi?.apiLimit === undefined ? {} : { apiLimit: options.cpi.apiLimit }),
        // A Pod keeps its name, but a restarted process must not take the old process's Lease for its own.
        identity: `${options.identity ?? hostname()}_${randomBytes(4).toString('hex')}`,
        ...(options.listen === undefined ? {} : { listen: options.listen }),
        ...(options.cpi?.secure === undefined ? {} : { secure: options.cpi.secure }),
        version: VERSION,
        clock: systemClock,
        random: Math.random,
        logger,
        metrics: createMetrics({ version: VERSION, lease: options.leaseName, clock: systemClock }),
        memory: { resident: () => process.memoryUsage.rss(), release: returnFreePages },
      },
      ending.signal,
    )
  } catch (error) {
    logger.error({ err: error }, 'failed')
    return 1
  }
  logger.info('ended')
  return 0
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
