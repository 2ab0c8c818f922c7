/** The controller's entry, and the only reader of arguments, environment, clock and randomness. */
import { randomBytes } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { hostname } from 'node:os'
import { systemClock } from '../agent/shared/clock.ts'
import { hasFailed, linesJSON, printLines } from '../agent/shared/diagnosis.ts'
import type { Result } from '../agent/shared/result.ts'
import { returnFreePages } from '../agent/shared/return-free-pages.ts'
import { VERSION } from '../agent/shared/version.ts'
import { complete } from './command-line/complete.ts'
import { completionScript } from './command-line/completion-script.ts'
import { HELP } from './command-line/help.ts'
import { completion } from './commands/completion.ts'
import { doctor } from './commands/doctor.ts'
import { explain } from './commands/explain.ts'
import { plan } from './commands/plan.ts'
import { run } from './commands/run.ts'
import { type StatusOptions, status, watchStatus } from './commands/status.ts'
import type { GivenArguments } from './config/apply-arguments.ts'
import { ConfigError } from './config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from './config/load.ts'
import { helpOnFlags } from './cpi-arguments/help.ts'
import { explanationJSON, printExplanation } from './explain/print-explanation.ts'
import type { CredentialLocation } from './kubernetes/credentials.ts'
import { controllerCredentials, operatorCredentials } from './kubernetes/find-credentials.ts'
import { createLogger } from './log.ts'
import {
  type DoctorFlags,
  type ExplainFlags,
  type PlanFlags,
  parseCommandLine,
  type RunFlags,
  type StatusFlags,
} from './options.ts'
import { changesSomething, isWhole, planJSON, printPlan } from './plan/print-plan.ts'
import { printable } from './printable.ts'
import { readRegularFile } from './read-regular-file.ts'
import { type ClusterStatus, printStatus, statusJSON } from './status/print-status.ts'
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
      process.stderr.write(`rollcall-controller: ${line.message}\n`)
      return args[0] === 'plan' ? 1 : 2
    case 'run':
      return start(line.options)
    case 'plan':
      return answer((signal) => showPlan(line.options, signal))
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
      return answer((signal) => showExplanation(line.options, signal))
    case 'status':
      return answer((signal) => showStatus(line.options, signal))
    case 'doctor':
      return answer((signal) => showDoctor(line.options, signal))
  }
}

/** What every command works with. */
interface Prepared {
  readonly config: ConfigSource & { readonly loaded: LoadedConfig }
  readonly credentials: CredentialLocation
}

/** Where it cannot be had, the exit code; why has been said. */
async function prepare(
  { config: path }: Pick<RunFlags, 'config'>,
  found: Result<CredentialLocation>,
  given: GivenArguments | undefined,
): Promise<Prepared | 1 | 2> {
  const source: ConfigSource = { ...configSource(path), ...(given === undefined ? {} : { given }) }
  let loaded: LoadedConfig
  try {
    loaded = await loadConfig(source)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 1
  }
  if (!found.ok) {
    process.stderr.write(`rollcall-controller: ${found.message}\n`)
    return 2
  }
  return { config: { ...source, loaded }, credentials: found.value }
}

/** Milliseconds for which a person waits for the names of Nodes. */
const COMPLETION_DEADLINE = 3_000
/** Longest error that a person is shown. */
const MAX_ERROR = 1024
/** Longest message of a line of `doctor`. */
const MAX_LINE = 2_000
/** To the top of the terminal, and everything below it away. */
const CLEAR = '\u001b[H\u001b[J'

function configSource(path: string): ConfigSource {
  return {
    path,
    readFile: async (path, maxBytes) => readRegularFile(path, maxBytes),
    readFolder: async (path) => readdirSync(path),
    environment: process.env,
  }
}

/** The CPI's arguments, as if none of them concerned Nodes. */
const AS_THE_CPI: GivenArguments = { initializes: true, endsNodes: true, nodeLabels: {} }

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

/** Says to a person what the answer itself does not depend on. */
function warn(message: string): void {
  process.stderr.write(`${message}\n`)
}

async function showStatus(options: StatusFlags, signal: AbortSignal): Promise<number> {
  const credentials = operatorCredentials(options, process.env)
  if (!credentials.ok) throw new Error(credentials.message)
  const { leaseNamespace: namespace, leaseName: name, output } = options
  const asked: StatusOptions = {
    credentials: credentials.value,
    lease: { namespace, name },
    version: VERSION,
    clock: systemClock,
    random: Math.random,
    // What fails stands below the table.
    logger: createLogger({ level: 'error', now: systemClock.now }),
  }
  const { stdout } = process
  const screen = () => (stdout.isTTY ? { columns: stdout.columns, rows: stdout.rows } : undefined)
  if (options.watch) {
    const show = (status: ClusterStatus): void => {
      if (output === 'json') stdout.write(statusJSON(status))
      else
        stdout.write(
          `${stdout.isTTY ? CLEAR : ''}${printStatus(status, screen())}${stdout.isTTY ? '' : '\n'}`,
        )
    }
    await watchStatus(asked, show, signal)
    return 0
  }
  const found = await status(asked, signal)
  stdout.write(output === 'json' ? statusJSON(found) : printStatus(found))
  return found.unknown.length === 0 ? 0 : 1
}

async function showExplanation(options: ExplainFlags, signal: AbortSignal): Promise<number> {
  const found = operatorCredentials(options, process.env)
  if (!found.ok) throw new Error(found.message)
  const { config: path, node, leaseNamespace: namespace, leaseName: name } = options
  const prepared = path === undefined ? undefined : await prepare({ config: path }, found, undefined)
  if (typeof prepared === 'number') return 1
  for (const warning of prepared?.config.loaded.warnings ?? []) warn(warning)
  const explanation = await explain(
    {
      node,
      config: prepared?.config,
      credentials: found.value,
      lease: { namespace, name },
      version: VERSION,
      clock: systemClock,
      random: Math.random,
      logger: createLogger({ level: options.logLevel, now: systemClock.now }),
      metrics: createMetrics({ version: VERSION, lease: '', clock: systemClock }),
      warn,
    },
    signal,
  )
  process.stdout.write(
    options.output === 'json' ? explanationJSON(explanation) : printExplanation(explanation),
  )
  return explanation.unknown.length === 0 ? 0 : 1
}

async function showPlan(options: PlanFlags, signal: AbortSignal): Promise<number> {
  const logger = createLogger({ level: options.logLevel, now: systemClock.now })
  const prepared = await prepare(
    options,
    operatorCredentials(options, process.env),
    options.fromCPI ? AS_THE_CPI : undefined,
  )
  if (typeof prepared === 'number') return 1
  for (const warning of prepared.config.loaded.warnings) warn(warning)
  const made = await plan(
    {
      ...prepared,
      fromCPI: options.fromCPI,
      lease: { namespace: options.leaseNamespace, name: options.leaseName },
      version: VERSION,
      clock: systemClock,
      random: Math.random,
      logger,
      // Nobody reads them: no port is opened, and the Lease is not taken.
      metrics: createMetrics({ version: VERSION, lease: '', clock: systemClock }),
      warn,
    },
    signal,
  )
  process.stdout.write(options.output === 'json' ? planJSON(made) : printPlan(made))
  if (!isWhole(made)) return 1
  return changesSomething(made) ? 2 : 0
}

async function showDoctor(options: DoctorFlags, signal: AbortSignal): Promise<number> {
  const lines = await doctor(
    {
      config: configSource(options.config),
      credentials: operatorCredentials(options, process.env),
      lease: { namespace: options.leaseNamespace, name: options.leaseName },
      version: VERSION,
      clock: systemClock,
      random: Math.random,
      // All that is wrong stands in the lines.
      logger: createLogger({ level: 'silent', now: systemClock.now }),
    },
    signal,
  )
  process.stdout.write(
    options.output === 'json' ? linesJSON(lines) : printLines(lines, (said) => printable(said, MAX_LINE)),
  )
  return hasFailed(lines) ? 1 : 0
}

async function start(options: RunFlags): Promise<number> {
  const logger = createLogger({ level: options.logLevel, now: systemClock.now })
  const prepared = await prepare(options, controllerCredentials(options, process.env), options.cpi?.given)
  if (typeof prepared === 'number') return prepared
  const { config, credentials } = prepared
  const { loaded } = config
  for (const { loud, message } of options.cpi?.notices ?? [])
    logger[loud ? 'warn' : 'info']({ notice: message }, 'command line')
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
    process.stderr.write(`rollcall-controller: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exitCode = 1
  },
)
