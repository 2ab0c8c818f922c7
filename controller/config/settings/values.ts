/** The kinds of values that settings have, each with its parser and what an editor may know of it. */

import ipaddr from 'ipaddr.js'
import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { shapeOfText } from '../tree.ts'
import { type Schema, spelling, type ValueType } from './row.ts'

/** YAML gives editors numbers and booleans for what is text here. */
const TEXT: Schema = { type: ['string', 'number', 'boolean', 'null'] }
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

/** The items between commas, trimmed; empty ones do not count. */
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
  return textOf<T>((written) => parseChoice(written, choices), choices[0], { enum: [...choices, null] })
}

export function integer(min: number, max: number): ValueType<number> {
  return textOf((written) => parseInteger(written, min, max), min, {
    anyOf: [
      { type: 'integer', minimum: min, maximum: max },
      { type: 'string', pattern: String.raw`^\d*$` },
      { type: 'null' },
    ],
  })
}

export function duration(least: '0s' | '1s'): ValueType<number> {
  return textOf((written) => parseDuration(written, least), 0, {
    anyOf: [{ type: ['string', 'null'], pattern: DURATION }, { const: 0 }],
  })
}

export function durationOrOff(least: '0s' | '1s'): ValueType<number | undefined> {
  return textOf((written) => parseDurationOrOff(written, least), undefined, {
    anyOf: [{ type: ['string', 'null'], pattern: DURATION }, { enum: ['off', false] }],
  })
}

export const share: ValueType<number> = textOf(parseShare, 0, {
  anyOf: [
    { type: 'number', minimum: 0, maximum: 1 },
    { type: ['string', 'null'], pattern: String.raw`^(\d{1,3}(\.\d*)?\s*%|\d?\.\d+|0)$` },
  ],
})

/** The words of YAML 1.1, which the CPI reads, and of its INI form. */
export function parseFlag(text: string): Result<boolean> {
  if (/^(true|yes|on|y|1)$/i.test(text)) return ok(true)
  if (/^(false|no|off|n|0)$/i.test(text)) return ok(false)
  return failed(`expected true or false, got ${shapeOfText(text)}`)
}

/** One of a few words; case, `-` and `_` do not matter. */
export function parseChoice<const T extends string>(text: string, choices: readonly T[]): Result<T> {
  const found = choices.find((choice) => spelling(choice) === spelling(text))
  if (found !== undefined) return ok(found)
  const near = didYouMean(text, choices)
  const next = near === undefined ? '' : `: did you mean "${near}"?`
  return failed(`expected ${choices.join(', ')}, got ${shapeOfText(text)}${next}`)
}

/** A whole number, digits only. */
function parseInteger(text: string, min: number, max: number): Result<number> {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return ok(value)
  return failed(`expected a whole number from ${min} to ${max}, got ${shapeOfText(text)}`)
}

/**
 * A share, as `20%` or `0.2`. Whole numbers other than 0 are refused: `1` could mean all or one percent.
 *
 * @returns 0 to 1
 */
function parseShare(text: string): Result<number> {
  const [, percent, fraction] = /^(?:(\d{1,3}(?:\.\d*)?)\s*%|(\d?\.\d+|0))$/.exec(text) ?? []
  const value = percent === undefined ? Number(fraction) : Number(percent) / 100
  if (value >= 0 && value <= 1) return ok(value)
  const near = /^\d{1,2}$|^100$/.test(text) ? `: did you mean "${Number(text)}%"?` : ''
  return failed(`expected a share from 0% to 100%, such as 20% or 0.2, got ${shapeOfText(text)}${near}`)
}

/** In milliseconds, by the letters of Go's time.ParseDuration; both code points of the micro sign are its, too. */
const UNITS: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1_000],
  ['m', 60_000],
  ['h', 3_600_000],
])
const PART = String.raw`(\d+(?:\.\d*)?|\.\d+)(ns|[uµ\u03bc]s|ms|[smh])`

/** Timers count milliseconds in 32 bits and fire at once above 24 days; nobody waits so long for a Node either. */
const LONGEST = { ms: 604_800_000, text: '168h' }

/** What people write instead of a unit. */
const SLIPS: ReadonlyMap<string, { readonly unit: string; readonly times: number }> = new Map(
  [
    { unit: 's', times: 1, words: ['', 's', 'sec', 'secs', 'second', 'seconds'] },
    { unit: 'm', times: 1, words: ['m', 'min', 'mins', 'minute', 'minutes'] },
    { unit: 'h', times: 1, words: ['h', 'hr', 'hrs', 'hour', 'hours'] },
    { unit: 'h', times: 24, words: ['d', 'day', 'days'] },
  ].flatMap(({ words, ...meaning }) => words.map((word) => [word, meaning] as const)),
)

/**
 * A duration as Go writes it: `90s`, `5m`, `1h30m`, `1500ms`. A number without a unit is refused: people mean seconds by
 * it, programs nanoseconds.
 *
 * @param least shorter durations are refused
 * @returns whole milliseconds, at most a week
 */
export function parseDuration(text: string, least: '0s' | '1s'): Result<number> {
  if (text !== '0' && !new RegExp(`^(?:${PART})+$`).test(text)) {
    return failed(`expected ${EXPECTED}, got ${shapeOfText(text)}${hint(text)}`)
  }
  let ms = 0
  for (const [, number, unit = ''] of text.matchAll(new RegExp(PART, 'g')))
    ms += Number(number) * (UNITS.get(unit) ?? Number.NaN)
  if (ms < (least === '1s' ? 1_000 : 0))
    return failed(`expected a duration of at least ${least}, got a shorter one`)
  if (ms > LONGEST.ms) return failed(`expected a duration of at most ${LONGEST.text}, got a longer one`)
  return ok(Math.round(ms))
}

/** The same, or undefined for `off` and the other words that people use for it. */
export function parseDurationOrOff(text: string, least: '0s' | '1s'): Result<number | undefined> {
  if (/^(off|false|no|n|never|none)$/i.test(text)) return ok(undefined)
  const checked = parseDuration(text, least)
  if (checked.ok) return checked
  return failed(checked.message.replace(/^expected /, 'expected "off" or '))
}

const EXPECTED = 'a duration such as 90s, 5m or 1h30m'

/** Repeats only a number and a known unit: other text may be anything. */
function hint(text: string): string {
  const [, number = '', word = ''] = /^(\d{1,6})\s*([a-z]*)$/i.exec(text) ?? []
  const slip = number === '' ? undefined : SLIPS.get(word.toLowerCase())
  return slip === undefined ? '' : `: did you mean "${Number(number) * slip.times}${slip.unit}"?`
}

/**
 * Subnets with commas between, of either family. Blanks around them do not count; the CPI fails on those, but only when it
 * looks for a Node's addresses.
 */
export function parseCIDRs(written: string): Result<readonly string[]> {
  const items = itemsOf(written)
  const wrong = items.findIndex((item) => !isCIDR(item))
  if (wrong === -1) return ok(items.map((item) => item.toLowerCase()))
  const which = items.length === 1 ? '' : `number ${wrong + 1} of ${items.length} is wrong: `
  return failed(
    `${which}expected a subnet such as 10.0.0.0/8 or fd00::/64, got ${shapeOfText(items[wrong] ?? '')}`,
  )
}

/** As Go's net.ParseCIDR: bits after the prefix may be set; IPv4 has four numbers, and no zone is allowed. */
function isCIDR(item: string): boolean {
  const [, address = '', length = ''] = /^([0-9a-f.:]+)\/(\d{1,3})$/i.exec(item) ?? []
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) return !/(^|\.)0\d/.test(address) && Number(length) <= 32
  return ipaddr.IPv6.isValid(address) && Number(length) <= 128
}
