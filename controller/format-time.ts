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
