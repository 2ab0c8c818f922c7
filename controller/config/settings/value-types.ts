/** The kinds of values that settings have, each with its parser and what an editor may know of it. */
import { ok, type Result } from '../../../agent/shared/result.ts'
import {
  parseChoice,
  parseDuration,
  parseDurationOrOff,
  parseFlag,
  parseInteger,
  parseShare,
} from '../values.ts'
import type { Schema, ValueType } from './row.ts'

/** YAML gives editors numbers and booleans for what is text here. */
export const TEXT: Schema = { type: ['string', 'number', 'boolean', 'null'] }
const LIST: Schema = { anyOf: [TEXT, { type: 'array', items: TEXT }] }
const DURATION = String.raw`^(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|\u03bcs|ms|s|m|h))+)$`

export const text: ValueType<string> = { form: 'text', parse: ok, nothing: '', schema: TEXT }

/** Text where nothing written is undefined, not empty. */
export const name: ValueType<string | undefined> = { ...text, nothing: undefined }

export function textOf<T>(
  parse: (text: string) => Result<T>,
  nothing: T,
  schema: Schema = TEXT,
): ValueType<T> {
  return { form: 'text', parse, nothing, schema }
}

export function listOf<T>(parse: (text: string) => Result<readonly T[]>): ValueType<readonly T[]> {
  return { form: 'list', parse, nothing: [], schema: LIST }
}

export const names: ValueType<readonly string[]> = listOf((written) => ok(itemsOf(written)))

/** What stands between commas, trimmed; empty items do not count. */
export function itemsOf(written: string): readonly string[] {
  return written
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

export const flag: ValueType<boolean> = {
  form: 'flag',
  parse: parseFlag,
  nothing: false,
  schema: {
    anyOf: [
      { type: ['boolean', 'null'] },
      { enum: [0, 1] },
      {
        type: 'string',
        pattern: '^([Tt]rue|TRUE|[Yy]es|YES|[Oo]n|ON|[Yy]|1|[Ff]alse|FALSE|[Nn]o|NO|[Oo]ff|OFF|[Nn]|0|)$',
      },
    ],
  },
}

export function choice<const T extends string>(choices: readonly [T, ...T[]]): ValueType<T> {
  return {
    form: 'text',
    parse: (written) => parseChoice(written, choices),
    nothing: choices[0],
    schema: { enum: [...choices, null] },
  }
}

export function integer(min: number, max: number): ValueType<number> {
  return {
    form: 'text',
    parse: (written) => parseInteger(written, min, max),
    nothing: min,
    schema: {
      anyOf: [
        { type: 'integer', minimum: min, maximum: max },
        { type: 'string', pattern: String.raw`^\d*$` },
        { type: 'null' },
      ],
    },
  }
}

export function duration(least: '0s' | '1s'): ValueType<number> {
  return {
    form: 'text',
    parse: (written) => parseDuration(written, least),
    nothing: 0,
    schema: { anyOf: [{ type: ['string', 'null'], pattern: DURATION }, { const: 0 }] },
  }
}

export function durationOrOff(least: '0s' | '1s'): ValueType<number | undefined> {
  return {
    form: 'text',
    parse: (written) => parseDurationOrOff(written, least),
    nothing: undefined,
    schema: { anyOf: [{ type: ['string', 'null'], pattern: DURATION }, { enum: ['off', false] }] },
  }
}

export const share: ValueType<number> = {
  form: 'text',
  parse: parseShare,
  nothing: 0,
  schema: {
    anyOf: [
      { type: 'number', minimum: 0, maximum: 1 },
      { type: ['string', 'null'], pattern: String.raw`^(\d{1,3}(\.\d*)?\s*%|\d?\.\d+|0)$` },
    ],
  },
}
