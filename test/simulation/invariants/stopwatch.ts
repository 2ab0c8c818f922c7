/** What may be so for a moment, but not for long while nothing else is wrong. */
import type { World } from '../world.ts'
import { isLeaderWell } from './leader.ts'

/** Longer than it takes to tell who waits, and to initialize it, while nothing else is wrong; milliseconds. */
const TOLD = 45_000

/** Violates the promise for what is found, by keys, and still is after so many milliseconds. */
export function createStopwatch(
  promise: string,
  find: (world: World) => readonly string[],
  atMost = TOLD,
): (world: World) => void {
  /** Since when each is. */
  const since = new Map<string, number>()
  return (world) => {
    const { api, timeline, judge } = world
    const found = new Set(isCalm(world) ? find(world) : [])
    for (const key of since.keys()) if (!found.has(key)) since.delete(key)
    for (const key of found) {
      const from = since.get(key) ?? timeline.now
      since.set(key, from)
      if (timeline.now - from > atMost) judge.violate(promise, `${key} (${api.holder.identity} leads)`)
    }
  }
}

/**
 * Whether a leader hears and says everything at once, nothing has just healed, and each vCenter lets it in and is the one
 * that it is taken for.
 */
export function isCalm(world: World): boolean {
  return (
    isLeaderWell(world) &&
    world.timeline.now >= world.healing.until &&
    world.vCenters.every(
      ({ reach, slow, resolving, impostor, passwordWrong }) =>
        reach === 'works' && slow === 0 && resolving === 0 && impostor === undefined && !passwordWrong,
    )
  )
}
