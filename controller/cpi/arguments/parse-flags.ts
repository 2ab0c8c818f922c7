import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { printable } from '../../../agent/shared/printable.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { FlagRow } from './row.ts'

/** Each flag that was given, with the texts of its values in their order. */
export type GivenFlags = ReadonlyMap<FlagRow<unknown>, readonly string[]>

/** One argument taken apart. */
interface Taken {
  readonly name: string
  readonly row: FlagRow<unknown>
  /** Undefined where it is the next argument. */
  readonly value: string | undefined
}

/**
 * Parses arguments as pflag does: `--x=v`, `--x v`, a bare `--x` for booleans, `-v 2`, `-v=2`, `-v2`, and `--` before words.
 * An underscore in a name counts as a hyphen. A flag that takes a value takes the next argument, whatever that looks like.
 *
 * @param rows by the names of their flags
 * @returns problems in words that never repeat a value
 */
export function parseFlags(
  args: readonly string[],
  rows: Readonly<Record<string, FlagRow<unknown>>>,
): { readonly given: GivenFlags; readonly problems: readonly string[] } {
  const given = new Map<FlagRow<unknown>, string[]>()
  const problems: string[] = []
  const rest = [...args]
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === '--') {
      // The CPI skips empty words, which templates produce.
      if (rest.some((word) => word !== ''))
        problems.push('unexpected argument after "--": only flags are accepted')
      break
    }
    if (arg === '') continue
    if (!arg.startsWith('-') || arg === '-') {
      problems.push(
        `unexpected argument "${printable(arg, 60)}": flags begin with --, and a value follows its flag`,
      )
      continue
    }
    const taken = arg.startsWith('--') ? takeLong(arg, rows) : takeShort(arg, rows)
    if (!taken.ok) {
      problems.push(taken.message)
      // What follows an unknown flag may be its value, and a secret, which could begin with one hyphen.
      if (!arg.includes('=') && rest[0]?.startsWith('--') === false) rest.shift()
      continue
    }
    const { name, row, value = rest.shift() } = taken.value
    if (value === undefined) {
      problems.push(`${name}: its value is missing`)
      continue
    }
    const parsed = row.kind.parse(value)
    if (parsed.ok) given.set(row, [...(given.get(row) ?? []), value])
    else problems.push(`${name}: ${parsed.message}`)
  }
  return { given, problems }
}

function takeLong(arg: string, rows: Readonly<Record<string, FlagRow<unknown>>>): Result<Taken> {
  const [, written = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(arg) ?? []
  const name = written.replaceAll('_', '-')
  const row = Object.hasOwn(rows, name) ? rows[name] : undefined
  if (row === undefined) return failed(unknown(name, Object.keys(rows)))
  return ok({ name: `--${name}`, row, value: value ?? row.kind.bare })
}

/** Only `-v` and `-h` are short; `-h` was handled earlier. */
function takeShort(arg: string, rows: Readonly<Record<string, FlagRow<unknown>>>): Result<Taken> {
  const letter = arg.charAt(1)
  const row = Object.values(rows).find(({ shorthand }) => shorthand === letter)
  const name = `-${letter}`
  if (row !== undefined) {
    const value = arg.slice(2).replace(/^=(?=.)/s, '')
    return ok({ name, row, value: value === '' ? row.kind.bare : value })
  }
  const long = arg.slice(1).split('=', 1)[0] ?? ''
  const near = Object.hasOwn(rows, long) ? `: did you mean --${long}?` : ': see --help'
  return failed(`unknown flag ${printable(`-${long}`, 60)}${near}`)
}

function unknown(name: string, known: readonly string[]): string {
  const near = didYouMean(name, known)
  return `unknown flag ${printable(`--${name}`, 60)}: ${near === undefined ? 'see --help' : `did you mean --${near}?`}`
}

/** Of a repeated flag the last value counts; undefined where it is not given. */
export function lastOf<T>(given: GivenFlags, row: FlagRow<T>): T | undefined {
  return allOf(given, row).at(-1)
}

/** The values of a flag, one for each time that it is given. */
export function allOf<T>(given: GivenFlags, row: FlagRow<T>): readonly T[] {
  return (given.get(row) ?? []).flatMap((text) => {
    const parsed = row.kind.parse(text)
    return parsed.ok ? [parsed.value] : []
  })
}
