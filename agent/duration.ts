const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Milliseconds of a duration as `90s`, `10m` or `1h30m`; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d+(ms|s|m|h))+$/.test(text)) return undefined
  let total = 0
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h)/g))
    total += Number(count) * (UNITS[unit ?? ''] ?? 0)
  return Number.isSafeInteger(total) ? total : undefined
}
