/** Prints what the commands for people have found out; each function returns the exit code. */
import { existsSync } from 'node:fs'
import type { Clock } from '../../../agent/shared/clock.ts'
import { hasFailed, linesJSON, printLines } from '../../../agent/shared/diagnosis.ts'
import type { GivenArguments } from '../../config/apply-arguments.ts'
import type { Environment } from '../../config/apply-environment.ts'
import { MOUNTED_CONFIG } from '../../inspect/doctor/config-of-cluster.ts'
import { explanationJSON, printExplanation } from '../../inspect/explain/print-explanation.ts'
import { changesSomething, isWhole, planJSON, printPlan } from '../../inspect/plan/print-plan.ts'
import { type ClusterStatus, printStatus, statusJSON } from '../../inspect/status/print-status.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import { createLogger, type Logger } from '../../lib/log.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import type { DoctorFlags, ExplainFlags, LeaseFlags, PlanFlags, StatusFlags } from '../options.ts'
import { doctor } from './doctor.ts'
import { explain } from './explain.ts'
import { plan } from './plan.ts'
import { configSource, prepare } from './prepare.ts'
import { status, watchStatus } from './status.ts'

/** What only main.ts reads, and passes on. */
export interface Surroundings {
  readonly environment: Environment
  readonly clock: Clock
  readonly random: () => number
  readonly version: string
  readonly stdout: NodeJS.WriteStream
  /** Tells a person something that is not part of the answer itself. */
  readonly warn: (message: string) => void
}

/** Moves to the top of the terminal, and clears everything below. */
const CLEAR = '\u001b[H\u001b[J'

/** The CPI's arguments, as if none of them concerned Nodes. */
const AS_THE_CPI: GivenArguments = { initializes: true, endsNodes: true, nodeLabels: {} }

/** Prints all Nodes, once or again and again. */
export async function showStatus(
  options: StatusFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { environment, stdout } = surroundings
  const credentials = operatorCredentials(options, environment)
  if (!credentials.ok) throw new Error(credentials.message)
  const { output } = options
  const asked = {
    ...common(options, surroundings),
    credentials: credentials.value,
    // Failures are listed below the table.
    logger: logger('error', surroundings),
  }
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

/** Explains one Node. */
export async function showExplanation(
  options: ExplainFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { environment, stdout, warn } = surroundings
  const found = operatorCredentials(options, environment)
  if (!found.ok) throw new Error(found.message)
  const { config: path, node } = options
  const prepared = path === undefined ? undefined : await prepare(configSource(path, environment), found)
  if (prepared?.ok === false) {
    warn(prepared.message)
    return 1
  }
  for (const warning of prepared?.value.config.loaded.warnings ?? []) warn(warning)
  const explanation = await explain(
    {
      ...common(options, surroundings),
      node,
      config: prepared?.value.config,
      credentials: found.value,
      logger: logger(options.logLevel, surroundings),
      metrics: unreadMetrics(surroundings),
      warn,
    },
    signal,
  )
  stdout.write(options.output === 'json' ? explanationJSON(explanation) : printExplanation(explanation))
  return explanation.unknown.length === 0 ? 0 : 1
}

/** Prints what `run` would change. */
export async function showPlan(
  options: PlanFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { environment, stdout, warn } = surroundings
  const source = configSource(options.config, environment, options.fromCPI ? AS_THE_CPI : undefined)
  const prepared = await prepare(source, operatorCredentials(options, environment))
  if (!prepared.ok) {
    warn(prepared.message)
    return 1
  }
  for (const warning of prepared.value.config.loaded.warnings) warn(warning)
  const made = await plan(
    {
      ...common(options, surroundings),
      ...prepared.value,
      fromCPI: options.fromCPI,
      logger: logger(options.logLevel, surroundings),
      metrics: unreadMetrics(surroundings),
      warn,
    },
    signal,
  )
  stdout.write(options.output === 'json' ? planJSON(made) : printPlan(made))
  if (!isWhole(made)) return 1
  return changesSomething(made) ? 2 : 0
}

/** Prints what is wrong. */
export async function showDoctor(
  options: DoctorFlags,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  const { environment, stdout } = surroundings
  const lines = await doctor(
    {
      ...common(options, surroundings),
      config: doctorConfig(options, environment),
      configSecret: options.configSecret,
      credentials: operatorCredentials(options, environment),
      // Everything that is wrong is in the lines.
      logger: logger('silent', surroundings),
    },
    signal,
  )
  stdout.write(options.output === 'json' ? linesJSON(lines) : printLines(lines))
  return hasFailed(lines) ? 1 : 0
}

/** The file that is named, or that of the Pod where this is one; undefined where neither is there. */
function doctorConfig({ config }: DoctorFlags, environment: Environment) {
  const path = config ?? (existsSync(MOUNTED_CONFIG) ? MOUNTED_CONFIG : undefined)
  return path === undefined ? undefined : configSource(path, environment)
}

function common(
  { leaseNamespace: namespace, leaseName: name }: LeaseFlags,
  { version, clock, random }: Surroundings,
) {
  return { lease: { namespace, name }, version, clock, random }
}

function logger(level: Parameters<typeof createLogger>[0]['level'], { clock }: Surroundings): Logger {
  return createLogger({ level, now: clock.now })
}

/** Nobody reads them: no port is opened, and the Lease is not taken. */
function unreadMetrics({ version, clock }: Surroundings) {
  return createMetrics({ version, lease: '', clock })
}
