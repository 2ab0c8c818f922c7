import { parseArgs } from 'node:util'
import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { printable } from '../../../agent/shared/printable.ts'
import type { CommandLine } from '../../../agent/shared/program.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { type CpiArguments, parseCpiArguments } from '../../cpi/arguments/parse-cpi-arguments.ts'
import { FLAGS } from '../../cpi/arguments/table.ts'
import type { RunFlags } from '../commands/run.ts'
import { COMMANDS, type Command, type CommandName, isCommand, optionsOf, wordsOf } from '../commands/table.ts'
import {
  checkLease,
  type GivenOptions,
  isOption,
  OPTIONS,
  optionRow,
  parseListen,
  takesValue,
} from './options.ts'

type ControllerCommandLine = CommandLine<
  | Command
  /** The words that a shell wants completed. */
  | { readonly kind: 'complete'; readonly words: readonly string[] }
  /** The help for the CPI's form. */
  | { readonly kind: 'help on flags' }
  | { readonly kind: 'help on command'; readonly command: CommandName }
>

/** What the scripts for shells call. */
const COMPLETE = '__complete'

/** Parses the command line, without the program's own name. An error is one sentence that names the argument. */
export function parseCommandLine(args: readonly string[]): ControllerCommandLine {
  const [name, ...rest] = args
  if (name === COMPLETE) return { kind: 'complete', words: rest }
  const cpiForm = name?.startsWith('-') === true && !belongsToRun(name)
  if (args.includes('--help') || args.includes('-h')) {
    if (name !== undefined && isCommand(name)) return { kind: 'help on command', command: name }
    return { kind: cpiForm && args.length > 1 ? 'help on flags' : 'help' }
  }
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
  const listen = parseListen(said.listen)
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
    namespace: undefined,
    // klog's -v=4 is debug level.
    logLevel: verbosity >= 4 ? 'debug' : 'info',
    cpi: { timing, apiLimit, secure: secure && { ...secure, host: bindAddress }, given, notices },
  })
}

function parseCommand<Name extends CommandName>(name: Name, args: readonly string[]): Result<Command<Name>> {
  const read = readOptions(name, args)
  if (!read.ok) return read
  const options = COMMANDS[name].parse(read.value)
  return options.ok ? ok({ kind: name, options: options.value }) : options
}

function readOptions(command: CommandName, args: readonly string[]): Result<GivenOptions> {
  const known = optionsOf(command)
  // Not strict: its messages run over several lines and suggest no option that is spelled alike.
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      known.map((name) => {
        const { short } = optionRow(name) ?? {}
        const type = takesValue(name) ? ('string' as const) : ('boolean' as const)
        return [name, { type, ...(short === undefined ? {} : { short }) }]
      }),
    ),
    strict: false,
    tokens: true,
  })
  const { operand } = COMMANDS[command]
  const values = new Map<(typeof known)[number] | 'operand', string>()
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (operand === undefined)
        return failed(`unexpected argument "${shortened(token.value)}": every option begins with --`)
      const before = values.get('operand')
      if (before !== undefined && operand.many !== true)
        return failed(`unexpected argument "${shortened(token.value)}": expected one ${operand.name}`)
      values.set('operand', before === undefined ? token.value : `${before} ${token.value}`)
      continue
    }
    if (token.kind === 'option-terminator')
      return failed('unexpected argument "--": there is nothing that could follow it')
    const { name, inlineValue } = token
    // "-o=json", as kubectl has it.
    const value = token.rawName.startsWith('--') ? token.value : token.value?.replace(/^=/, '')
    if (!isOption(name) || !known.includes(name))
      return failed(`unknown option ${optionName(token.rawName)}${suggestion(name, known, '--')}`)
    if (values.has(name)) return failed(`--${name}: given twice, expected once`)
    if (!takesValue(name)) {
      if (value !== undefined) return failed(`--${name}: takes no value`)
      values.set(name, name)
      continue
    }
    if (value === undefined || value === '' || (!inlineValue && value.startsWith('--'))) {
      return failed(`--${name}: its value is missing`)
    }
    const words = wordsOf(command, name)
    if (words?.includes(value) === false) return failed(`--${name}: expected one of ${words.join(', ')}`)
    values.set(name, value)
  }
  if (operand !== undefined && operand.many !== true && !values.has('operand'))
    return failed(
      `${operand.name} is missing: expected ${operand.words?.join(', ') ?? `"${command} ${operand.name}"`}`,
    )
  const given = values.get('operand')
  if (given !== undefined && operand?.words?.includes(given) === false)
    return failed(`${operand.name}: expected one of ${operand.words.join(', ')}`)
  return ok(values)
}

/** Options of ours by the name that the CPI has for them. */
const CPI_NAMES: ReadonlyMap<string, string> = new Map([['cloud-config', 'config']])

/** What may be said after the name of something that nobody knows. */
function suggestion(word: string, known: readonly string[], prefix: string): string {
  const called = CPI_NAMES.get(word)
  const near = called !== undefined && known.includes(called) ? called : didYouMean(word, known)
  return near === undefined ? ': see --help' : `: did you mean ${prefix}${near}?`
}

/** Without what may follow a "=". */
function optionName(arg: string): string {
  return shortened(arg.split('=', 1)[0] ?? '')
}

/** An argument, as short as errors may be. */
function shortened(text: string): string {
  return printable(text, 60)
}

function wrong(message: string): ControllerCommandLine {
  return { kind: 'wrong', message }
}
