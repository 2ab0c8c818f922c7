import type { LifecycleConfig } from '../../../controller/config/config.ts'
import type { World } from '../world.ts'

/** Two looks at the file, and the slowest reconcile that had begun before, milliseconds. */
const TAKES = 60_000

/**
 * The `lifecycle.deletion` that a replica must follow: what the file has said for a while, or did before it became invalid.
 * Undefined where the replica may not know that yet: it was changed just now, or while the replica was stopped.
 */
export function deletionFor(
  { configFile, processes, timeline }: World,
  by: string,
): LifecycleConfig['deletion'] | undefined {
  const { settings, deletionSince, invalidSince } = configFile
  const { deletion } = settings.lifecycle
  if (deletionSince === -Infinity) return deletion
  const { awakeSince = timeline.now } = processes.find(({ name }) => name === by) ?? {}
  const known = (invalidSince ?? timeline.now) - Math.max(deletionSince, awakeSince)
  return known > TAKES ? deletion : undefined
}
