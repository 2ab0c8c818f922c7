import type { CommandLine } from '../../../agent/shared/command-line.ts'
import { ok, type Result } from '../../../agent/shared/result.ts'
import { type CpiArguments, parseCpiArguments } from '../../cpi/arguments/parse-cpi-arguments.ts'
import { FLAGS } from '../../cpi/arguments/table.ts'
import type { Command, RunFlags } from '../options.ts'
import { parseCommand } from './parse-command.ts'
import { checkLease, parseListen } from './parse-values.ts'
import { optionName, shortened, suggestion } from './read-options.ts'
import { COMMANDS, isCommand, isOption, OPTIONS, optionsOf } from './table.ts'

export type ControllerCommandLine = CommandLine<
  | Command
  /** The words that a shell wants completed. */
  | { readonly kind: 'complete'; readonly words: readonly string[] }
  /** The help for the CPI's form. */
  | { readonly kind: 'help on flags' }
>

/** What the scripts for shells call. */
const COMPLETE = '__complete'

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
  if (!isCommand(name))
    return wrong(`unknown command "${shortened(name)}"${suggestion(name, Object.keys(COMMANDS), '')}`)
  const parsed = parseCommand(name, rest)
  return parsed.ok ? parsed.value : wrong(parsed.message)
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
  if (parsed.value.kind === 'help') return { kind: 'help on flags' }
  const options = asRun(parsed.value.arguments)
  return options.ok ? { kind: 'run', options: options.value } : wrong(options.message)
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
}: CpiArguments): Result<RunFlags> {
  const listen = parseListen(said.listen ?? OPTIONS.listen.default)
  if (!listen.ok) return listen
  const lease = checkLease(said.leaseNamespace, said.leaseName ?? OPTIONS['lease-name'].default, {
    namespace: '--leader-elect-resource-namespace',
    name: '--leader-elect-resource-name',
  })
  if (!lease.ok) return lease
  return ok({
    config: said.config,
    kubeconfig: said.kubeconfig,
    listen: listen.value && { host: listen.value.host || bindAddress, port: listen.value.port },
    ...lease.value,
    identity: undefined,
    // klog's -v=4 is debug level.
    logLevel: verbosity >= 4 ? 'debug' : 'info',
    cpi: { timing, apiLimit, secure: secure && { ...secure, host: bindAddress }, given, notices },
  })
}

function wrong(message: string): ControllerCommandLine {
  return { kind: 'wrong', message }
}
