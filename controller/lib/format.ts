/** How counts, lists of names and times are written in messages. */
import { printable } from '../../agent/shared/printable.ts'

/** Most names in one line. */
const MAX_NAMES = 5
const MAX_NAME = 120

/** As `1 Node`, `2 Nodes`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** How many there are, and the first few of them: `2 (worker-1, worker-2)`. */
export function counted(names: readonly string[]): string {
  return `${names.length} (${listed(names)})`
}

/** The first few of them, which strangers may have given, and how many more there are. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => printable(name, MAX_NAME))
  const more = names.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Rounded up to the minute: `14:05 UTC`. Messages that name it do not change within that minute. */
export function timeOfDay(ms: number): string {
  return `${new Date(Math.ceil(ms / 60_000) * 60_000).toISOString().slice(11, 16)} UTC`
}

/** Milliseconds as people write them: `5m`, `1m30s`, `1.5s`. */
export function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000}s`
  const whole = Math.round(ms / 1000)
  const seconds = whole % 60
  return `${Math.floor(whole / 60)}m${seconds === 0 ? '' : `${seconds}s`}`
}

/** The units of {@link age}, in seconds. */
const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const

/** How long ago that was, as kubectl writes it: `12s`, `5m`, `3h`, `2d`; clocks may differ, so never less than 0. */
export function age(time: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000))
  if (Number.isNaN(seconds)) return 'an unknown time'
  for (const [unit, size] of UNITS) if (seconds >= 2 * size) return `${Math.floor(seconds / size)}${unit}`
  return `${seconds}s`
}
