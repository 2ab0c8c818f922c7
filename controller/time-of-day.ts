/** The minute that comes next, as people read it: `14:05 UTC`. Messages that name it stay the same for that long. */
export function timeOfDay(ms: number): string {
  return `${new Date(Math.ceil(ms / 60_000) * 60_000).toISOString().slice(11, 16)} UTC`
}
