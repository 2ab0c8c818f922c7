import type { CommandRow } from '../commands/command.ts'
import { COMMANDS, type CommandName, optionsOf, wordsOf } from '../commands/table.ts'
import { OPTIONS, type OptionName, type OptionRow } from './options.ts'

const WIDTH = 118
/** With more options than these the usage does not list them. */
const MAX_LISTED = 6

const commands =
  Object.entries<Pick<CommandRow<never>, 'does' | 'operand' | 'required' | 'optional'>>(COMMANDS)
const options = Object.entries<OptionRow>(OPTIONS)

/** The text of `--help` after a command, from its row. */
export function helpOn(name: CommandName): string {
  const row: Omit<CommandRow<never>, 'parse' | 'start'> = COMMANDS[name]
  const described = optionsOf(name).map((option): [string, string] => {
    const words = wordsOf(name, option)
    return [withShort(option, OPTIONS[option]), textOf({ ...OPTIONS[option], ...(words && { words }) })]
  })
  return `usage: rollcall-controller ${usage(name, row)}

${wrapped(`${name} ${row.does}.`, WIDTH).join('\n')}

${columns([...described, ['--help (-h)', 'print this text']])}
`
}

/** The text of `--help`, from the table. */
export const HELP = `${[
  ...commands.map(([name, row]) => `rollcall-controller ${usage(name, row)}`),
  'rollcall-controller --cloud-config FILE [flags of the vSphere CPI, see --cloud-config --help]',
]
  .map((line, index) => (index === 0 ? `usage: ${line}` : `       ${line}`))
  .join('\n')}

${columns(commands.map(([name, { does }]) => [name, does]))}

${columns([
  ...options.map(([name, row]): [string, string] => [withShort(name, row), textOf(row)]),
  ['--version', 'print the version'],
  ['--help (-h)', 'print this text, or after a command what it does and takes'],
])}
`

function usage(
  name: string,
  { operand, required, optional }: Omit<CommandRow<never>, 'parse' | 'start'>,
): string {
  const given = required.map((option) => labelOf(option, OPTIONS[option]))
  const may = optional.map((option) => `[${choicesOf(option)}]`)
  return [
    name,
    ...(operand === undefined
      ? []
      : [operand.words?.join('|') ?? (operand.many ? `[${operand.name}...]` : operand.name)]),
    ...given,
    ...(may.length > MAX_LISTED - 1 ? ['[options]'] : may),
  ].join(' ')
}

function choicesOf(name: OptionName): string {
  return name === 'output' ? `--${name} ${OPTIONS.output.words.join('|')}` : labelOf(name, OPTIONS[name])
}

function labelOf(name: string, { value }: OptionRow): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`
}

function withShort(name: string, row: OptionRow): string {
  return row.short === undefined ? labelOf(name, row) : `${labelOf(name, row)} (-${row.short})`
}

function textOf({ help, words, default: standard }: OptionRow): string {
  const choice = words === undefined ? '' : `: ${words.join(', ')}`
  return `${help}${choice}${standard === undefined ? '' : ` (default ${standard})`}`
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length)) + 2
  return rows
    .map(
      ([label, text]) =>
        `  ${label.padEnd(width)}${wrapped(text, WIDTH - 2 - width).join(`\n${' '.repeat(width + 2)}`)}`,
    )
    .join('\n')
}

/** Lines of at most `width` characters, cut at spaces. */
function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
