import { isIP } from 'node:net'
import type { CommandLine } from '../agent/shared/command-line.ts'
import { LOG_LEVELS, type LogLevel } from '../agent/shared/log-level.ts'
import { failed, ok, type Result } from '../agent/shared/result.ts'
import {
  excerpt,
  type GivenOptions,
  optionName,
  readOptions,
  suggestion,
} from './command-line/read-options.ts'
import {
  COMMANDS,
  type CommandName,
  isCommand,
  isOption,
  OPTIONS,
  OUTPUTS,
  type Output,
  optionsOf,
  SHELLS,
  type Shell,
} from './command-line/table.ts'
import type { GivenArguments } from './config/apply-arguments.ts'
import { type CpiArguments, type Notice, parseCpiArguments } from './cpi-arguments/parse-cpi-arguments.ts'
import type { SecureServing } from './cpi-arguments/secure-serving.ts'
import { FLAGS } from './cpi-arguments/table.ts'
import type { CredentialFlags } from './kubernetes/find-credentials.ts'
import type { RateLimit } from './kubernetes/flow-control.ts'
import type { ElectionTiming } from './kubernetes/leader-election.ts'

/** Where to listen. */
export interface ListenAddress {
  /** Empty means every address of the machine, IPv6 and IPv4. */
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
}

export interface RunFlags {
  /** The CPI's configuration file. */
  readonly config: string
  /** Without it the service account of the Pod. */
  readonly kubeconfig: string | undefined
  /** The plain port; undefined where it is turned off. */
  readonly listen: ListenAddress | undefined
  readonly leaseNamespace: string
  readonly leaseName: string
  /** This replica's name in the Lease, to which each process adds a suffix of its own; without it the host's. */
  readonly identity: string | undefined
  readonly logLevel: LogLevel
  /** What only the CPI's arguments can say. */
  readonly cpi?: CpiFlags
}

export interface CpiFlags {
  readonly timing: ElectionTiming
  readonly apiLimit: RateLimit | undefined
  /** The HTTPS port, on the same address as the plain one; undefined where it is turned off. */
  readonly secure: (SecureServing & { readonly host: string }) | undefined
  /** What they say that the configuration depends on. */
  readonly given: GivenArguments
  /** To be told at the start. */
  readonly notices: readonly Notice[]
}

type LeaseFlags = Pick<RunFlags, 'leaseNamespace' | 'leaseName'>

export interface PlanFlags extends CredentialFlags, LeaseFlags, Pick<RunFlags, 'config' | 'logLevel'> {
  readonly output: Output
  /** Whether the CPI is to be looked for, and its cluster to go on as it was. */
  readonly fromCPI: boolean
}

export interface StatusFlags extends CredentialFlags, LeaseFlags {
  readonly output: Output
  readonly watch: boolean
}

export interface ExplainFlags
  extends CredentialFlags,
    Pick<RunFlags, 'leaseNamespace' | 'leaseName' | 'logLevel'> {
  readonly node: string
  /** To ask vCenter, too. */
  readonly config: string | undefined
  readonly output: Output
}

export interface DoctorFlags extends CredentialFlags, LeaseFlags, Pick<RunFlags, 'config'> {
  readonly output: Output
}

export type ControllerCommandLine = CommandLine<
  | { readonly kind: 'run'; readonly options: RunFlags }
  | { readonly kind: 'plan'; readonly options: PlanFlags }
  | { readonly kind: 'explain'; readonly options: ExplainFlags }
  | { readonly kind: 'status'; readonly options: StatusFlags }
  | { readonly kind: 'doctor'; readonly options: DoctorFlags }
  | { readonly kind: 'completion'; readonly shell: Shell }
  /** The words that a shell wants completed. */
  | { readonly kind: 'complete'; readonly words: readonly string[] }
  /** The help for the CPI's form. */
  | { readonly kind: 'help on flags' }
>

/** What the scripts for shells call. */
const COMPLETE = '__complete'

/** A parser for each command. */
const PARSERS: Readonly<Record<CommandName, (args: readonly string[]) => ControllerCommandLine>> = {
  run: parseRun,
  plan: parsePlan,
  explain: parseExplain,
  status: parseStatus,
  doctor: parseDoctor,
  completion: parseCompletion,
}

/** Parses the command line, without the program's own name. An error is one sentence that names the argument. */
export function parseCommandLine(args: readonly string[]): ControllerCommandLine {
  const [name, ...rest] = args
  if (name === COMPLETE) return { kind: 'complete', words: rest }
  const cpiForm = name?.startsWith('-') === true && !belongsToRun(name)
  if (args.includes('--help') || args.includes('-h'))
    return { kind: cpiForm && args.length > 1 ? 'help on flags' : 'help' }
  if (args.includes('--version')) return { kind: 'version' }
  if (name === undefined)
    return wrong(
      `a command is missing: expected ${Object.keys(COMMANDS).join(', ')}, or the arguments of the CPI`,
    )
  if (cpiForm) return parseCpiForm(args)
  if (name.startsWith('-')) return wrong(`the command comes first: expected "run" before ${optionName(name)}`)
  if (isCommand(name)) return PARSERS[name](rest)
  return wrong(`unknown command "${excerpt(name)}"${suggestion(name, Object.keys(COMMANDS), '')}`)
}

/** Whether an argument is an option of `run` that the CPI's form does not have. */
function belongsToRun(arg: string): boolean {
  const name = optionName(arg).replace(/^--/, '')
  return isOption(name) && optionsOf('run').includes(name) && !Object.hasOwn(FLAGS, name)
}

/** A command line without a command: the CPI's. */
function parseCpiForm(args: readonly string[]): ControllerCommandLine {
  const parsed = parseCpiArguments(args)
  if (!parsed.ok) return wrong(parsed.message)
  if (parsed.value.kind === 'version') return { kind: 'version' }
  return parsed.value.kind === 'help' ? { kind: 'help on flags' } : asRun(parsed.value.arguments)
}

function asRun({
  bindAddress,
  verbosity,
  timing,
  apiLimit,
  secure,
  given,
  notices,
  ...said
}: CpiArguments): ControllerCommandLine {
  const listen = parseListen(said.listen ?? OPTIONS.listen.default)
  if (!listen.ok) return wrong(listen.message)
  const lease = checkLease(said.leaseNamespace, said.leaseName ?? OPTIONS['lease-name'].default, {
    namespace: '--leader-elect-resource-namespace',
    name: '--leader-elect-resource-name',
  })
  if (!lease.ok) return wrong(lease.message)
  return {
    kind: 'run',
    options: {
      config: said.config,
      kubeconfig: said.kubeconfig,
      listen: listen.value && { host: listen.value.host || bindAddress, port: listen.value.port },
      ...lease.value,
      identity: undefined,
      // klog's -v=4 is debug level.
      logLevel: verbosity >= 4 ? 'debug' : 'info',
      cpi: { timing, apiLimit, secure: secure && { ...secure, host: bindAddress }, given, notices },
    },
  }
}

function parseRun(args: readonly string[]): ControllerCommandLine {
  const read = readOptions('run', args)
  if (!read.ok) return wrong(read.message)
  const values = read.value
  const config = values.get('config')
  if (config === undefined) return wrong(NO_CONFIG)
  const listen = parseListen(values.get('listen') ?? OPTIONS.listen.default)
  if (!listen.ok) return wrong(listen.message)
  const lease = leaseOf(values)
  if (!lease.ok) return wrong(lease.message)
  const [kubeconfig, identity] = [values.get('kubeconfig'), values.get('identity')]
  return {
    kind: 'run',
    options: {
      config,
      kubeconfig,
      listen: listen.value,
      ...lease.value,
      identity,
      logLevel: logLevelOf(values, 'info'),
    },
  }
}

function parsePlan(args: readonly string[]): ControllerCommandLine {
  const read = readOptions('plan', args)
  if (!read.ok) return wrong(read.message)
  const values = read.value
  const config = values.get('config')
  if (config === undefined) return wrong(NO_CONFIG)
  const lease = leaseOf(values)
  if (!lease.ok) return wrong(lease.message)
  return {
    kind: 'plan',
    options: {
      config,
      ...credentialOf(values),
      ...lease.value,
      output: outputOf(values),
      // What is wrong stands in the plan itself.
      logLevel: logLevelOf(values, 'error'),
      fromCPI: values.has('from-cpi'),
    },
  }
}

function parseExplain(args: readonly string[]): ControllerCommandLine {
  const read = readOptions('explain', args)
  if (!read.ok) return wrong(read.message)
  const values = read.value
  // As "kubectl -o name" writes it.
  const node = (values.get('operand') ?? '').replace(/^nodes?\//, '')
  const lease = leaseOf(values)
  if (!lease.ok) return wrong(lease.message)
  const options = {
    node,
    config: values.get('config'),
    ...credentialOf(values),
    ...lease.value,
    output: outputOf(values),
    // What is wrong stands in the explanation itself.
    logLevel: logLevelOf(values, 'error'),
  }
  return { kind: 'explain', options }
}

function parseStatus(args: readonly string[]): ControllerCommandLine {
  const read = readOptions('status', args)
  if (!read.ok) return wrong(read.message)
  const values = read.value
  const lease = leaseOf(values)
  if (!lease.ok) return wrong(lease.message)
  const options = {
    ...credentialOf(values),
    ...lease.value,
    output: outputOf(values),
    watch: values.has('watch'),
  }
  return { kind: 'status', options }
}

function parseCompletion(args: readonly string[]): ControllerCommandLine {
  const read = readOptions('completion', args)
  if (!read.ok) return wrong(read.message)
  const shell = SHELLS.find((known) => known === read.value.get('operand')) ?? 'bash'
  return { kind: 'completion', shell }
}

function credentialOf(values: GivenOptions): CredentialFlags {
  return { kubeconfig: values.get('kubeconfig'), context: values.get('context') }
}

function parseDoctor(args: readonly string[]): ControllerCommandLine {
  const read = readOptions('doctor', args)
  if (!read.ok) return wrong(read.message)
  const values = read.value
  const config = values.get('config')
  if (config === undefined) return wrong(NO_CONFIG)
  const lease = leaseOf(values)
  if (!lease.ok) return wrong(lease.message)
  return {
    kind: 'doctor',
    options: { config, ...credentialOf(values), ...lease.value, output: outputOf(values) },
  }
}

function leaseOf(values: GivenOptions): Result<LeaseFlags> {
  return checkLease(
    values.get('lease-namespace') ?? OPTIONS['lease-namespace'].default,
    values.get('lease-name') ?? OPTIONS['lease-name'].default,
    { namespace: '--lease-namespace', name: '--lease-name' },
  )
}

function outputOf(values: GivenOptions): Output {
  return OUTPUTS.find((known) => known === values.get('output')) ?? OPTIONS.output.default
}

function logLevelOf(values: GivenOptions, standard: LogLevel): LogLevel {
  return LOG_LEVELS.find((known) => known === values.get('log-level')) ?? standard
}

const NO_CONFIG = '--config is missing: expected the path of the vSphere configuration'
const WRONG_LISTEN = '--listen: expected ADDRESS:PORT, as in 0.0.0.0:10270, [::]:10270 or :10270, or off'

/** @param flags how each of the two is spelt on this command line */
function checkLease(
  leaseNamespace: string,
  leaseName: string,
  flags: { readonly namespace: string; readonly name: string },
): Result<LeaseFlags> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(leaseNamespace))
    return failed(`${flags.namespace}: expected the name of a namespace, lower case, at most 63 characters`)
  if (leaseName.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(leaseName))
    return failed(`${flags.name}: expected an object name, lower case, at most 253 characters`)
  return ok({ leaseNamespace, leaseName })
}

/** @returns undefined for `off` */
function parseListen(text: string): Result<ListenAddress | undefined> {
  if (text === 'off') return ok(undefined)
  const match = /^(\[(?<v6>[^\]]+)\]|(?<other>[^:[\]]*)):(?<port>\d{1,5})$/.exec(text)
  const { v6, other, port } = match?.groups ?? {}
  if (port === undefined || Number(port) > 65535) return failed(WRONG_LISTEN)
  const host = v6 ?? other ?? ''
  const known = v6 === undefined ? host === '' || host === 'localhost' || isIP(host) === 4 : isIP(v6) === 6
  return known ? ok({ host, port: Number(port) }) : failed(WRONG_LISTEN)
}

function wrong(message: string): ControllerCommandLine {
  return { kind: 'wrong', message }
}
