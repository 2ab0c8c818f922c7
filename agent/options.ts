import { parseArgs } from 'node:util'
import { didYouMean } from './shared/did-you-mean.ts'
import { type CommandLine, LOG_LEVELS, type LogLevel } from './shared/program.ts'
import { failed, ok, type Result } from './shared/result.ts'

export interface Options {
  /** Kubeconfig files, of which the first that is there counts; without any the service account of the pod. */
  readonly kubeconfigs: readonly string[]
  /** The root of all paths of the host. */
  readonly root: string
  /** Guest RPC tool; by default the usual places are tried. */
  readonly rpctool: string | undefined
  /** Milliseconds between two full reports. */
  readonly refresh: number
  /** Milliseconds between two looks at the machine's own facts. */
  readonly look: number
  readonly mode: 'run' | 'once' | 'print' | 'kubelet-args' | 'doctor'
  /** Of `doctor`. */
  readonly output: (typeof OUTPUTS)[number]
  readonly logLevel: LogLevel
}

const OUTPUTS = ['table', 'json'] as const

/** With less, a thousand nodes would be a load on the API server; changes are reported at once anyway. */
const MIN_REFRESH = 60_000
const MIN_LOOK = 1000
/** The longest that a timer takes, and more than anyone needs. */
const MAX_DURATION = 24 * 3_600_000

export const HELP = `usage: rollcall-agent [options]
       rollcall-agent doctor [options] [--output table|json]

Reports what only this machine knows as the NodeReport of its Node. "doctor" looks at all that this takes and says what is
wrong, and what to do; it sends nothing, and its exit code is 1 where a check fails.

  --kubeconfig FILE   credential of this node, as the kubelet's own; given several times, the first that is
                      there is used (default: the service account token of the pod)
  --root DIR          root of the host's file system, as the agent sees it (default /); with another folder than /
                      the addresses come from DIR/run/rollcall/network-interfaces.json
  --rpctool FILE      guest RPC tool (default: DIR/usr/bin/vmware-rpctool, else rollcall-guestinfo
                      beside this program); where the host refuses it, DIR/usr/bin/vmtoolsd --cmd is taken
  --refresh DURATION  time between two full reports, at least 1m (default 3m); up to an eighth is added at
                      random. Each is a sign of life: while they come, the controller deletes no Node, so
                      keep it, with the eighth and time to retry, within lifecycle.absentFor
  --look DURATION     time between two looks at addresses and the like, at least 1s (default 30s);
                      a change is reported at once
  --once              report once, then exit: 0 when it was sent, else 1
  --print             print the report without sending it
  --kubelet-args      with --print: print "--provider-id=... --node-ip=..." for the kubelet instead, which need not
                      have run yet
  --output FORM       of doctor: ${OUTPUTS.join(', ')} (default table)
  --log-level LEVEL   ${LOG_LEVELS.join(', ')} (default info)
  --version           print the version
  --help              print this text
`

const SPEC = {
  kubeconfig: { type: 'string', multiple: true },
  root: { type: 'string', default: '/' },
  rpctool: { type: 'string' },
  refresh: { type: 'string', default: '3m' },
  look: { type: 'string', default: '30s' },
  once: { type: 'boolean', default: false },
  print: { type: 'boolean', default: false },
  'kubelet-args': { type: 'boolean', default: false },
  output: { type: 'string', default: 'table' },
  'log-level': { type: 'string', default: 'info' },
  version: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

/** Parses the command line. An error is one sentence that names the option. */
export function parseOptions(
  given: readonly string[],
): CommandLine<{ readonly kind: 'options'; readonly options: Options }> {
  const doctor = given[0] === 'doctor'
  const args = doctor ? given.slice(1) : given
  const unknown = findUnknown(args)
  if (unknown !== undefined) return wrong(unknown)
  let values: ReturnType<typeof parse>
  try {
    values = parse(args)
  } catch (error) {
    // parseArgs throws for a missing or a superfluous value and names the option; its further lines are advice.
    return wrong(error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? '') : String(error))
  }
  if (values.help) return { kind: 'help' }
  if (values.version) return { kind: 'version' }
  const level = LOG_LEVELS.find((name) => name === values['log-level'])
  if (level === undefined) return wrong(`--log-level: expected one of ${LOG_LEVELS.join(', ')}`)
  for (const name of ['kubeconfig', 'root', 'rpctool'] as const) {
    if ([values[name]].flat().includes('')) return wrong(`--${name}: expected a path, got an empty string`)
  }
  const refresh = durationOf('refresh', values.refresh, MIN_REFRESH, '1m')
  if (!refresh.ok) return wrong(refresh.message)
  const look = durationOf('look', values.look, MIN_LOOK, '1s')
  if (!look.ok) return wrong(look.message)
  if (values.once && values.print) return wrong('--once and --print: give one of the two')
  if (values['kubelet-args'] && !values.print) return wrong('--kubelet-args: valid only with --print')
  const output = OUTPUTS.find((name) => name === values.output)
  if (output === undefined) return wrong(`--output: expected one of ${OUTPUTS.join(', ')}`)
  if (doctor && (values.once || values.print)) return wrong('doctor: takes neither --once nor --print')
  if (!doctor && values.output !== SPEC.output.default) return wrong('--output: valid only with doctor')
  const printed = values['kubelet-args'] ? 'kubelet-args' : 'print'
  const mode = doctor ? 'doctor' : values.once ? 'once' : values.print ? printed : 'run'
  const { kubeconfig, root, rpctool } = values
  const options = {
    kubeconfigs: kubeconfig ?? [],
    root,
    rpctool,
    refresh: refresh.value,
    look: look.value,
    mode,
    output,
    logLevel: level,
  } as const
  return { kind: 'options', options }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: SPEC, strict: true, allowPositionals: false }).values
}

function wrong(message: string): CommandLine<never> {
  return { kind: 'wrong', message }
}

function durationOf(name: string, text: string, min: number, minText: string): Result<number> {
  const ms = parseDuration(text)
  if (ms === undefined)
    return failed(
      `--${name}: expected a duration such as 90s or 15m, got ${JSON.stringify(text.slice(0, 40))}`,
    )
  if (ms < min) return failed(`--${name}: expected at least ${minText}, got ${text}`)
  return ms > MAX_DURATION ? failed(`--${name}: expected at most 24h, got ${text}`) : ok(ms)
}

function findUnknown(args: readonly string[]): string | undefined {
  for (const arg of args) {
    const name = /^--([^=]+)/.exec(arg)?.[1]
    if (name === undefined || name in SPEC) continue
    const near = didYouMean(name, Object.keys(SPEC))
    return `--${name.slice(0, 40)}: unknown option${near === undefined ? ', see --help' : `, did you mean --${near}?`}`
  }
  return undefined
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of a duration as `90s`, `10m` or `1h30m`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(ms|s|m|h))+$/.test(text)) return undefined
  let total = 0
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h)/g))
    total += Number(count) * (UNITS[unit ?? ''] ?? 0)
  return Number.isSafeInteger(total) ? total : undefined
}
