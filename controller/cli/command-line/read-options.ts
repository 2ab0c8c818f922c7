import { parseArgs } from 'node:util'
import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { printable } from '../../../agent/shared/printable.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import {
  COMMANDS,
  type CommandName,
  type CommandRow,
  isOption,
  OPTIONS,
  type OptionName,
  type OptionRow,
  optionsOf,
} from './table.ts'

/**
 * What stands on a command line, by the name of the option; a switch that is given has its own name as its value. `operand` is
 * what stands without a name.
 */
export type GivenOptions = ReadonlyMap<OptionName | 'operand', string>

/** Reads the options of a command. An error is one sentence that names the argument. */
export function readOptions(command: CommandName, args: readonly string[]): Result<GivenOptions> {
  const known = optionsOf(command)
  // Not strict: its messages run over several lines and suggest no option that is spelled alike.
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(known.map((name) => [name, { type: isSwitch(name) ? 'boolean' : 'string' }])),
    strict: false,
    tokens: true,
  })
  const { operand }: CommandRow = COMMANDS[command]
  const values = new Map<OptionName | 'operand', string>()
  for (const token of tokens) {
    if (token.kind === 'positional') {
      if (operand === undefined)
        return failed(`unexpected argument "${shortened(token.value)}": every option begins with --`)
      if (values.has('operand'))
        return failed(`unexpected argument "${shortened(token.value)}": expected one ${operand.name}`)
      values.set('operand', token.value)
      continue
    }
    if (token.kind === 'option-terminator')
      return failed('unexpected argument "--": there is nothing that could follow it')
    const { name, value, inlineValue } = token
    if (!isOption(name) || !known.includes(name))
      return failed(`unknown option ${optionName(token.rawName)}${suggestion(name, known, '--')}`)
    if (values.has(name)) return failed(`--${name}: given twice, expected once`)
    if (isSwitch(name)) {
      if (value !== undefined) return failed(`--${name}: takes no value`)
      values.set(name, name)
      continue
    }
    if (value === undefined || value === '' || (!inlineValue && value.startsWith('--'))) {
      return failed(`--${name}: its value is missing`)
    }
    const { words }: OptionRow = OPTIONS[name]
    if (words?.includes(value) === false) return failed(`--${name}: expected one of ${words.join(', ')}`)
    values.set(name, value)
  }
  if (operand !== undefined && !values.has('operand'))
    return failed(
      `${operand.name} is missing: expected ${operand.words?.join(', ') ?? `"${command} ${operand.name}"`}`,
    )
  const given = values.get('operand')
  if (given !== undefined && operand?.words?.includes(given) === false)
    return failed(`${operand.name}: expected one of ${operand.words.join(', ')}`)
  return ok(values)
}

function isSwitch(name: OptionName): boolean {
  const row: OptionRow = OPTIONS[name]
  return row.value === undefined
}

/** Options of ours by the name that the CPI has for them. */
const CPI_NAMES: ReadonlyMap<string, string> = new Map([['cloud-config', 'config']])

/** What may be said after the name of something that nobody knows. */
export function suggestion(word: string, known: readonly string[], prefix: string): string {
  const called = CPI_NAMES.get(word)
  const near = called !== undefined && known.includes(called) ? called : didYouMean(word, known)
  return near === undefined ? ': see --help' : `: did you mean ${prefix}${near}?`
}

/** Without what may follow a "=". */
export function optionName(arg: string): string {
  return shortened(arg.split('=', 1)[0] ?? '')
}

/** An argument, as short as errors may be. */
export function shortened(text: string): string {
  return printable(text, 60)
}
