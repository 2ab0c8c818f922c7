/** One parser for each kind of value. An error says what was expected instead. */
import { isIP } from 'node:net'
import { didYouMean } from '../../agent/shared/did-you-mean.ts'
import { failed, ok, type Result } from '../../agent/shared/result.ts'
import { spelling } from './settings/row.ts'
import { shapeOfText } from './tree.ts'

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
export function parseInteger(text: string, min: number, max: number): Result<number> {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return ok(value)
  return failed(`expected a whole number from ${min} to ${max}, got ${shapeOfText(text)}`)
}

/**
 * A share, as `20%` or `0.2`. Whole numbers other than 0 are refused: `1` could mean all or one percent.
 *
 * @returns 0 to 1
 */
export function parseShare(text: string): Result<number> {
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
    return failed(`expected ${DURATION}, got ${shapeOfText(text)}${hint(text)}`)
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

const DURATION = 'a duration such as 90s, 5m or 1h30m'

/** Repeats only a number and a known unit: other text may be anything. */
function hint(text: string): string {
  const [, number = '', word = ''] = /^(\d{1,6})\s*([a-z]*)$/i.exec(text) ?? []
  const slip = number === '' ? undefined : SLIPS.get(word.toLowerCase())
  return slip === undefined ? '' : `: did you mean "${Number(number) * slip.times}${slip.unit}"?`
}

/**
 * A host name or IP address as it goes into a URL's host or a certificate check: IPv6 without brackets. Whatever else
 * people write there (a URL, a port, a path) is refused with what to write instead.
 */
export function parseServer(text: string): Result<string> {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text
  if (isIP(bare) !== 0) return ok(bare)
  if (isHostName(bare) && bare === text) return ok(text)
  if (/^[\d.]+$/.test(text))
    return notServer(`got ${shapeOfText(text)} that looks like an IPv4 address but is not one`)
  return notServer(takeApart(text))
}

/** RFC 1123, and the underscore that internal DNS zones have. */
function isHostName(text: string): boolean {
  if (text.length > 253 || /^[\d.]+$/.test(text)) return false
  return text
    .replace(/\.$/, '')
    .split('.')
    .every((label) => /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label))
}

function takeApart(text: string): string {
  const match =
    /^(?<scheme>[a-z]+:\/\/)?(?<host>\[[^\]]*\]|[^:/?#@[\]]*)(:(?<port>\d{1,5}))?(?<path>[/?#].*)?$/i.exec(
      text,
    )
  const { scheme, host = '', port, path } = match?.groups ?? {}
  const bare = host.replaceAll(/[[\]]/g, '')
  if (match === null || (isIP(bare) === 0 && !isHostName(bare))) return `got ${shapeOfText(text)}`
  const extra = [
    ...(scheme === undefined ? [] : ['a scheme']),
    ...(port === undefined ? [] : ['a port']),
    ...(path === undefined ? [] : ['a path']),
    ...(host === bare || isIP(bare) !== 0 ? [] : ['brackets']),
  ].join(' and ')
  const instead = [`"server: ${bare}"`, ...(port === undefined ? [] : [`"port: ${port}"`])].join(' and ')
  return `got one with ${extra}: write ${instead}`
}

function notServer(got: string): Result<never> {
  return failed(`expected a host name or IP address, ${got}`)
}

/**
 * SHA-1 or SHA-256 of certificates in hex, separated by commas, so that the old and the new one can be listed while a
 * certificate is renewed. Colons and case do not matter (the CPI takes one only, in upper case with colons).
 *
 * @returns lower-case hex without colons, each once, at least one
 */
export function parseThumbprints(text: string): Result<readonly string[]> {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  // Commas alone are refused: with an empty list no certificate would be trusted.
  const written = parts.length === 0 ? [text] : parts
  const found = new Set<string>()
  for (const [index, part] of written.entries()) {
    const checked = parseThumbprint(part)
    if (!checked.ok) {
      const which = written.length === 1 ? '' : `number ${index + 1} of ${written.length} is wrong: `
      return failed(`${which}${checked.message}`)
    }
    found.add(checked.value)
  }
  return ok([...found])
}

function parseThumbprint(text: string): Result<string> {
  const hex = text.replaceAll(':', '').toLowerCase()
  if (!/^[0-9a-f]*$/.test(hex)) return notThumbprint(shapeOfText(text))
  if (hex.length !== 40 && hex.length !== 64) return notThumbprint(`${hex.length} of them`)
  return ok(hex)
}

function notThumbprint(got: string): Result<never> {
  return failed(
    `expected the SHA-1 (40 hex digits) or SHA-256 (64) of vCenter's certificate, got ${got}: get it with "openssl x509 -noout -fingerprint -sha256"`,
  )
}

/** Without a zero in front: to YAML 1.1, which the CPI reads, that is an octal number. */
export function parsePort(text: string): Result<number> {
  const port = /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65535) return ok(port)
  return failed(`expected a number from 1 to 65535, got ${shapeOfText(text)}`)
}

/**
 * The URL of a session manager. Plain HTTP, which the CPI takes, would show token and tickets to everybody on the way.
 *
 * @returns the URL as a URL parser writes it
 */
export function parseSessionManagerURL(text: string): Result<string> {
  const refused = (got: string) =>
    failed(`expected a URL such as https://sessions.example.com/session, got ${got}`)
  const url = text.length <= MAX_URL ? URL.parse(text) : null
  if (url === null) return refused(shapeOfText(text))
  if (url.protocol === 'http:') return refused('one without TLS: write https://')
  if (url.protocol !== 'https:') return refused(shapeOfText(text))
  if (url.username !== '' || url.password !== '')
    return refused('one with a user or a password: leave them out, the token has its own key')
  url.hash = ''
  return ok(url.href)
}

/** Characters. */
const MAX_URL = 2_048

/** The CPI takes a certificate as user and its key as password for a login by SAML token. */
export function parseUser(text: string): Result<string> {
  if (!text.includes('-----BEGIN')) return ok(text)
  return failed('a certificate as the user is not supported yet: write a user name and password')
}
