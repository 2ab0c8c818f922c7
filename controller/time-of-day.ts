/** Rounded up to the minute: `14:05 UTC`. Messages that name it do not change within that minute. */
export function timeOfDay(ms: number): string {
  return `${new Date(Math.ceil(ms / 60_000) * 60_000).toISOString().slice(11, 16)} UTC`
}
