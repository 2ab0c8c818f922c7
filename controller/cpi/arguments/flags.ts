/**
 * The form of the table of flags: a row for each, and the kinds of values, each with its parser, which accepts exactly what pflag
 * accepts. Parser, help and docs come from it.
 */
import { isIP } from 'node:net'
import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { printable } from '../../../agent/shared/printable.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { parseDuration } from '../../config/settings/values.ts'

/** How a flag is treated: one sentence for the help, the docs and the log. */
export type Support =
  /** It does what it does in the CPI, or what the sentence says. */
  | { readonly is: 'supported'; readonly how: string }
  /** It has no effect, for this reason. The log says so, as a warning where somebody may rely on the flag. */
  | { readonly is: 'accepted'; readonly because: string; readonly warns?: true }
  /** The start fails, with this as the next step. */
  | { readonly is: 'refused'; readonly because: string }

export interface FlagRow<T> {
  readonly kind: FlagKind<T>
  /** One letter, for `-v 2`. */
  readonly shorthand?: string
  /** The CPI's default, as pflag writes it. */
  readonly default: string
  /** Another value that describes what Rollcall does anyway. */
  readonly here?: string
  readonly support: Support
  /** Rollcall's own; the CPI does not know it. */
  readonly own?: true
}

export function supported<T>(kind: FlagKind<T>, standard: string, how: string): FlagRow<T> {
  return { kind, default: standard, support: { is: 'supported', how } }
}

export function accepted<T>(kind: FlagKind<T>, standard: string, because: string, here?: string): FlagRow<T> {
  return {
    kind,
    default: standard,
    ...(here === undefined ? {} : { here }),
    support: { is: 'accepted', because },
  }
}

/** Accepted, with a warning: somebody may rely on an effect that it does not have. */
export function acceptedWithWarning<T>(kind: FlagKind<T>, standard: string, because: string): FlagRow<T> {
  return { kind, default: standard, support: { is: 'accepted', because, warns: true } }
}

export function refused<T>(kind: FlagKind<T>, standard: string, because: string): FlagRow<T> {
  return { kind, default: standard, support: { is: 'refused', because } }
}

/** How values of one kind are written and read. */
export interface FlagKind<T> {
  /** As pflag calls it. */
  readonly type: string
  /** What the flag says without a value; where it is undefined, the next argument is the value. */
  readonly bare?: string
  /** Refuses with what was expected; never repeats the text. */
  readonly parse: (text: string) => Result<T>
}

export const text: FlagKind<string> = { type: 'string', parse: ok }

/** The words of Go's strconv.ParseBool. */
export const bool: FlagKind<boolean> = {
  type: 'bool',
  bare: 'true',
  parse(written) {
    if (/^(1|t|T|TRUE|true|True)$/.test(written)) return ok(true)
    if (/^(0|f|F|FALSE|false|False)$/.test(written)) return ok(false)
    return failed('expected true or false')
  },
}

export const int: FlagKind<number> = { type: 'int', parse: goNumber }
export const int32: FlagKind<number> = { type: 'int32', parse: goNumber }
/** Verbosity: klog reads it in base 10. */
export const level: FlagKind<number> = { type: 'Level', parse: wholeNumber }
export const float: FlagKind<number> = {
  type: 'float32',
  parse: (written) =>
    /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(written) ? ok(Number(written)) : failed('expected a number'),
}

export const duration: FlagKind<number> = {
  type: 'duration',
  parse: (written) => parseDuration(written, '0s'),
}

export const ip: FlagKind<string> = {
  type: 'ip',
  parse: (written) =>
    written === '' || isIP(written) !== 0 ? ok(written) : failed('expected an IP address'),
}

/** Values separated by commas, as in a line of CSV. */
export const list: FlagKind<readonly string[]> = { type: 'stringSlice', parse: readCSV }

export const numbers: FlagKind<readonly string[]> = {
  type: 'int32Slice',
  parse(written) {
    const items = written.split(',')
    return items.every((item) => wholeNumber(item).ok)
      ? ok(items)
      : failed('expected whole numbers separated by commas')
  },
}

/** `KEY=VALUE,...`; where there is a single `=`, all that follows is the value, commas too. */
export const pairs: FlagKind<ReadonlyMap<string, string>> = {
  type: 'stringToString',
  parse(written) {
    const single = written.indexOf('=') === written.lastIndexOf('=')
    const items = single ? ok([written.replaceAll(/^"+|"+$/g, '')]) : readCSV(written)
    if (!items.ok) return items
    const split = items.value.map((item) => /^([^=]*)=(.*)$/s.exec(item))
    const found = split.flatMap((match) => (match ? [[match[1] ?? '', match[2] ?? ''] as const] : []))
    return found.length === split.length
      ? ok(new Map(found))
      : failed('expected KEY=VALUE, separated by commas')
  },
}

/** A value that Rollcall does not read, in any form. */
export function opaque(type: string): FlagKind<string> {
  return { type, parse: ok }
}

/** As Go's strconv.ParseInt with base 0, which pflag uses: `0x1f`, `0b11`, `0o17`, and with a zero in front in base 8. */
function goNumber(written: string): Result<number> {
  if (!/^[+-]?0./.test(written)) return wholeNumber(written)
  const match = /^(?<sign>[+-]?)(?<digits>0(?:x[\da-f]+|b[01]+|o?[0-7]+))$/i.exec(written)
  if (match === null) return failed('expected a whole number')
  const { sign, digits = '' } = match.groups ?? {}
  const value = Number(/^0\d/.test(digits) ? `0o${digits}` : digits)
  return value <= MAX_INT32 ? ok(sign === '-' ? -value : value) : failed('expected a whole number')
}

const MAX_INT32 = 2 ** 31 - 1

function wholeNumber(written: string): Result<number> {
  return /^[+-]?\d{1,10}$/.test(written) ? ok(Number(written)) : failed('expected a whole number')
}

/**
 * One line of comma-separated values, as Go's encoding/csv reads it (RFC 4180): a field that begins with a quotation mark
 * ends with one, and has its own doubled; no other field holds any. An empty text has no fields.
 */
export function readCSV(line: string): Result<readonly string[]> {
  if (line === '') return ok([])
  const fields: string[] = []
  const field = /"((?:[^"]|"")*)"(?=,|$)|([^",]*)(?=,|$)/gy
  for (;;) {
    const match = field.exec(line)
    if (match === null)
      return failed('expected values separated by commas, each quoted as a whole or not at all')
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (field.lastIndex === line.length) return ok(fields)
    field.lastIndex++
  }
}

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
