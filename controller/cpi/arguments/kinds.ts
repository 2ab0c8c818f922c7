/** The kinds of values that the CPI's flags have, each with its parser: it accepts exactly what pflag accepts. */
import { isIP } from 'node:net'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { parseDuration } from '../../config/settings/values.ts'
import { readCSV } from './csv.ts'

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
