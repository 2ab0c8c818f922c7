/** The commands, in the order of the help. Parser, help and completion come from their rows. */
import { isOption, type OptionName, optionRow } from '../command-line/options.ts'
import { BUNDLE } from './bundle.ts'
import type { CommandRow, Surroundings } from './command.ts'
import { COMPLETION } from './completion.ts'
import { DOCTOR } from './doctor.ts'
import { EXPLAIN } from './explain.ts'
import { PLAN } from './plan.ts'
import { RUN } from './run.ts'
import { STATUS } from './status.ts'

const rows = {
  run: RUN,
  plan: PLAN,
  explain: EXPLAIN,
  status: STATUS,
  doctor: DOCTOR,
  bundle: BUNDLE,
  completion: COMPLETION,
}

type FlagsOf = {
  readonly [Name in keyof typeof rows]: (typeof rows)[Name] extends CommandRow<infer Flags> ? Flags : never
}

export type CommandName = keyof FlagsOf

export const COMMANDS: { readonly [Name in CommandName]: CommandRow<FlagsOf[Name]> } = rows

export type Command<Name extends CommandName = CommandName> = {
  readonly [Each in Name]: { readonly kind: Each; readonly options: FlagsOf[Each] }
}[Name]

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name)
}

/** The options of a command, in the order of the help. */
export function optionsOf(name: CommandName): readonly OptionName[] {
  const { required, optional } = COMMANDS[name]
  return [...required, ...optional]
}

/** The values that an option of a command takes, where those are few. */
export function wordsOf(command: CommandName, option: string): readonly string[] | undefined {
  return isOption(option) ? (COMMANDS[command].words?.[option] ?? optionRow(option)?.words) : undefined
}

/** Runs a command, and returns its exit code. What it throws is one sentence. */
export function startCommand<Name extends CommandName>(
  { kind, options }: Command<Name>,
  surroundings: Surroundings,
  signal: AbortSignal,
): Promise<number> {
  return COMMANDS[kind].start(options, surroundings, signal)
}
