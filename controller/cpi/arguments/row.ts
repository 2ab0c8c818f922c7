/**
 * The form of the table of flags: a row for each, and the kinds of values, each with its parser, which accepts exactly what pflag
 * accepts. Parser, help and docs come from it.
 */
import { isIP } from 'node:net'
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
