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
