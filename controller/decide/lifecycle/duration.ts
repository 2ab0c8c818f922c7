/** Milliseconds as people write them: `5m`, `1m30s`, `1.5s`. */
export function duration(ms: number): string {
  if (ms < 60_000) return `${ms / 1000}s`
  const minutes = Math.floor(ms / 60_000)
  const seconds = Math.round((ms % 60_000) / 1000)
  return `${minutes}m${seconds === 0 ? '' : `${seconds}s`}`
}
