import type { LifecycleConfig } from '../../../controller/config/config.ts'
import type { World } from '../world.ts'

/** Two looks at the file, and what a Node that is reconciled by then takes when the API server is slow, milliseconds. */
const TAKES = 60_000

/**
 * What a replica must go by of `lifecycle.deletion`: what the file has said for a while, or did before it became invalid.
 * Undefined where the replica may not know that yet.
 */
export function deletionFor(
  { configFile, processes, timeline }: World,
  by: string,
): LifecycleConfig['deletion'] | undefined {
  const { settings, since, invalidSince } = configFile
  const { awakeSince = timeline.now } = processes.find(({ name }) => name === by) ?? {}
  const known = (invalidSince ?? timeline.now) - Math.max(since, awakeSince)
  return known > TAKES ? settings.lifecycle.deletion : undefined
}
