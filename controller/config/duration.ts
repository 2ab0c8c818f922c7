import type { Result } from './result.ts'
import { shapeOfText } from './tree.ts'

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
const PART = String.raw`(\d+(?:\.\d*)?|\.\d+)(ns|[uµμ]s|ms|[smh])`

/** Timers count milliseconds in 32 bits and fire at once above 24 days; nobody waits so long for a Node either. */
const LONGEST = { ms: 604_800_000, text: '168h' }

/** What people write in the place of a unit. */
const SLIPS: ReadonlyMap<string, { readonly unit: string; readonly times: number }> = new Map(
  [
    { unit: 's', times: 1, words: ['', 's', 'sec', 'secs', 'second', 'seconds'] },
    { unit: 'm', times: 1, words: ['m', 'min', 'mins', 'minute', 'minutes'] },
    { unit: 'h', times: 1, words: ['h', 'hr', 'hrs', 'hour', 'hours'] },
    { unit: 'h', times: 24, words: ['d', 'day', 'days'] },
  ].flatMap(({ words, ...meaning }) => words.map((word) => [word, meaning] as const)),
)

/**
 * A length of time as Go writes it: `90s`, `5m`, `1h30m`, `1500ms`. A number without a unit is refused, as people mean
 * seconds by it and programs nanoseconds.
 *
 * @param least what is shorter is refused
 * @returns whole milliseconds, at most a week
 */
export function parseDuration(text: string, least: '0s' | '1s'): Result<number> {
  if (text !== '0' && !new RegExp(`^(?:${PART})+$`).test(text)) {
    return { ok: false, message: `expected ${DURATION}, got ${shapeOfText(text)}${hint(text)}` }
  }
  let ms = 0
  for (const [, number, unit = ''] of text.matchAll(new RegExp(PART, 'g')))
    ms += Number(number) * (UNITS.get(unit) ?? Number.NaN)
  if (ms < (least === '1s' ? 1_000 : 0))
    return { ok: false, message: `expected a duration of at least ${least}, got a shorter one` }
  if (ms > LONGEST.ms)
    return { ok: false, message: `expected a duration of at most ${LONGEST.text}, got a longer one` }
  return { ok: true, value: Math.round(ms) }
}

/** The same, or `off` in the words that people have for it, which comes out as undefined. */
export function parseDurationOrOff(text: string, least: '0s' | '1s'): Result<number | undefined> {
  if (/^(off|false|no|n|never|none)$/i.test(text)) return { ok: true, value: undefined }
  const checked = parseDuration(text, least)
  if (checked.ok) return checked
  return { ok: false, message: checked.message.replace(/^expected /, 'expected "off" or ') }
}

const DURATION = 'a duration such as 90s, 5m or 1h30m'

/** Only a number and a known word for a unit are repeated: other text may be anything. */
function hint(text: string): string {
  const [, number = '', word = ''] = /^(\d{1,6})\s*([a-z]*)$/i.exec(text) ?? []
  const slip = number === '' ? undefined : SLIPS.get(word.toLowerCase())
  return slip === undefined ? '' : `: did you mean "${Number(number) * slip.times}${slip.unit}"?`
}
