import { isIP } from 'node:net'
import { parseArgs } from 'node:util'
import type { CommandLine } from '../agent/shared/command-line.ts'
import { didYouMean } from '../agent/shared/did-you-mean.ts'
import { LOG_LEVELS, type LogLevel } from '../agent/shared/log-level.ts'
import { failed, ok, type Result } from '../agent/shared/result.ts'
import type { GivenArguments } from './config/apply-arguments.ts'
import { type CpiArguments, type Notice, parseCpiArguments } from './cpi-arguments/parse-cpi-arguments.ts'
import type { SecureServing } from './cpi-arguments/secure-serving.ts'
import { FLAGS } from './cpi-arguments/table.ts'
import type { ElectionTiming } from './kubernetes/leader-election.ts'
import type { RateLimit } from './kubernetes/rate-limit.ts'

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

export interface PlanFlags extends Pick<RunFlags, 'config' | 'kubeconfig' | 'logLevel'> {
  readonly output: (typeof OUTPUTS)[number]
  /** Whether the CPI is to be looked for, and its cluster to go on as it was. */
  readonly fromCPI: boolean
}

const OUTPUTS = ['table', 'json'] as const

export type ControllerCommandLine = CommandLine<
  | { readonly kind: 'run'; readonly options: RunFlags }
  | { readonly kind: 'plan'; readonly options: PlanFlags }
  /** The help for the CPI's form. */
  | { readonly kind: 'help on flags' }
>

const DEFAULTS = {
  listen: ':10270',
  'lease-namespace': 'kube-system',
  'lease-name': 'rollcall-controller',
  'log-level': 'info',
} as const

export const HELP = `usage: rollcall-controller run --config FILE [options]
       rollcall-controller plan --config FILE [--from-cpi] [--kubeconfig FILE] [--output table|json]
       rollcall-controller --cloud-config FILE [flags of the vSphere CPI, see --cloud-config --help]

Initialises the cluster's Nodes with what vCenter knows of their VMs. "plan" says what that would change, and writes
nothing; its exit code is 0 where nothing would change, 2 where something would, and 1 where it cannot tell. With
--from-cpi it also looks for the vSphere CPI, and says how it hands over.

  --config FILE          the vSphere configuration, as the vSphere CPI has it
  --kubeconfig FILE      credential for the API server (default: the service account of the Pod)
  --listen ADDRESS:PORT  where /metrics, /healthz and /readyz are served; without an address, on all; "off" for
                         nowhere (default ${DEFAULTS.listen})
  --lease-namespace NS   namespace of the Lease that replicas compete for (default ${DEFAULTS['lease-namespace']})
  --lease-name NAME      its name (default ${DEFAULTS['lease-name']})
  --identity NAME        name of this replica in the Lease, to which each start adds a suffix (default: the host's name)
  --log-level LEVEL      ${LOG_LEVELS.join(', ')} (default ${DEFAULTS['log-level']})

  --version              print the version
  --help                 print this text
`

/** A parser for each command. */
const COMMANDS: Readonly<Record<string, (args: readonly string[]) => ControllerCommandLine>> = {
  run: parseRun,
  plan: parsePlan,
}

/** Parses the command line, without the program's own name. An error is one sentence that names the argument. */
export function parseCommandLine(args: readonly string[]): ControllerCommandLine {
  const [name, ...rest] = args
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
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]?.(rest) ?? { kind: 'help' }
  return wrong(`unknown command "${excerpt(name)}"${suggestion(name, Object.keys(COMMANDS), '')}`)
}

const RUN_OPTIONS = [
  'config',
  'kubeconfig',
  'listen',
  'lease-namespace',
  'lease-name',
  'identity',
  'log-level',
]

/** Whether an argument is an option of `run` that the CPI's form does not have. */
function belongsToRun(arg: string): boolean {
  const name = optionName(arg).replace(/^--/, '')
  return RUN_OPTIONS.includes(name) && !Object.hasOwn(FLAGS, name)
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
  const listen = parseListen(said.listen ?? DEFAULTS.listen)
  if (!listen.ok) return wrong(listen.message)
  const lease = checkLease(said.leaseNamespace, said.leaseName ?? DEFAULTS['lease-name'], {
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
      logLevel: verbosity >= 4 ? 'debug' : DEFAULTS['log-level'],
      cpi: { timing, apiLimit, secure: secure && { ...secure, host: bindAddress }, given, notices },
    },
  }
}

function parseRun(args: readonly string[]): ControllerCommandLine {
  const read = readOptions(args, RUN_OPTIONS)
  if (!read.ok) return wrong(read.message)
  const values = read.value
  const config = values.get('config')
  if (config === undefined) return wrong(NO_CONFIG)
  const listen = parseListen(values.get('listen') ?? DEFAULTS.listen)
  if (!listen.ok) return wrong(listen.message)
  const lease = checkLease(
    values.get('lease-namespace') ?? DEFAULTS['lease-namespace'],
    values.get('lease-name') ?? DEFAULTS['lease-name'],
    { namespace: '--lease-namespace', name: '--lease-name' },
  )
  if (!lease.ok) return wrong(lease.message)
  const level = values.get('log-level') ?? DEFAULTS['log-level']
  const logLevel = LOG_LEVELS.find((known) => known === level)
  if (logLevel === undefined) return wrong(WRONG_LEVEL)
  const [kubeconfig, identity] = [values.get('kubeconfig'), values.get('identity')]
  return {
    kind: 'run',
    options: { config, kubeconfig, listen: listen.value, ...lease.value, identity, logLevel },
  }
}

const PLAN_OPTIONS = ['config', 'kubeconfig', 'output', 'log-level']

function parsePlan(args: readonly string[]): ControllerCommandLine {
  const fromCPI = args.includes(FROM_CPI)
  const read = readOptions(
    args.filter((arg) => arg !== FROM_CPI),
    PLAN_OPTIONS,
  )
  if (!read.ok) return wrong(read.message)
  const values = read.value
  const config = values.get('config')
  if (config === undefined) return wrong(NO_CONFIG)
  const output = OUTPUTS.find((known) => known === (values.get('output') ?? 'table'))
  if (output === undefined) return wrong(`--output: expected one of ${OUTPUTS.join(', ')}`)
  // What is wrong stands in the plan itself.
  const logLevel = LOG_LEVELS.find((known) => known === (values.get('log-level') ?? 'error'))
  if (logLevel === undefined) return wrong(WRONG_LEVEL)
  return {
    kind: 'plan',
    options: { config, kubeconfig: values.get('kubeconfig'), output, logLevel, fromCPI },
  }
}

const FROM_CPI = '--from-cpi'
const NO_CONFIG = '--config is missing: expected the path of the vSphere configuration'
const WRONG_LEVEL = `--log-level: expected one of ${LOG_LEVELS.join(', ')}`
const WRONG_LISTEN = '--listen: expected ADDRESS:PORT, as in 0.0.0.0:10270, [::]:10270 or :10270, or off'

/** @param flags how each of the two is spelt on this command line */
function checkLease(
  leaseNamespace: string,
  leaseName: string,
  flags: { readonly namespace: string; readonly name: string },
): Result<Pick<RunFlags, 'leaseNamespace' | 'leaseName'>> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(leaseNamespace))
    return failed(`${flags.namespace}: expected the name of a namespace, lower case, at most 63 characters`)
  if (leaseName.length > 253 || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(leaseName))
    return failed(`${flags.name}: expected an object name, lower case, at most 253 characters`)
  return ok({ leaseNamespace, leaseName })
}

/** Options that each take a value. */
function readOptions(args: readonly string[], known: readonly string[]): Result<ReadonlyMap<string, string>> {
  // Not strict: its messages run over several lines and know nothing near.
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(known.map((name) => [name, { type: 'string' }])),
    strict: false,
    tokens: true,
  })
  const values = new Map<string, string>()
  for (const token of tokens) {
    if (token.kind === 'positional')
      return failed(`unexpected argument "${excerpt(token.value)}": every option begins with --`)
    if (token.kind === 'option-terminator')
      return failed('unexpected argument "--": there is nothing that could follow it')
    const { name, value, inlineValue } = token
    if (!known.includes(name))
      return failed(`unknown option ${optionName(token.rawName)}${suggestion(name, known, '--')}`)
    if (value === undefined || value === '' || (!inlineValue && value.startsWith('--'))) {
      return failed(`--${name}: its value is missing`)
    }
    if (values.has(name)) return failed(`--${name}: given twice, expected once`)
    values.set(name, value)
  }
  return ok(values)
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

function suggestion(word: string, known: readonly string[], prefix: string): string {
  const near = didYouMean(word, known)
  return near === undefined ? ': see --help' : `: did you mean ${prefix}${near}?`
}

/** Without what may follow a "=". */
function optionName(arg: string): string {
  return excerpt(arg.split('=', 1)[0] ?? '')
}

function excerpt(text: string): string {
  return text.length <= 40 ? text : `${text.slice(0, 40)}...`
}

function wrong(message: string): ControllerCommandLine {
  return { kind: 'wrong', message }
}
