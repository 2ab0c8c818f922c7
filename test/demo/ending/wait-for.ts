import { PATIENCE } from '../../fixtures/until.ts'
import type { Program } from '../../world/program.ts'
import { whatEnded } from '../ended.ts'
import { observe, type Snapshot } from '../observe.ts'
import type { DemoSite } from '../site.ts'
import type { Narrator } from './narrator.ts'

/** What the scenes of the ending have in common. */
export interface Scenery {
  readonly site: DemoSite
  /** Those that should run. */
  readonly agents: Map<string, Program>
  readonly narrator: Narrator
  readonly signal: AbortSignal
}

/** It could not be shown, because it did not come. */
export class NotShown extends Error {
  override name = 'NotShown'
}

/** What came, and milliseconds since the wait began. */
export interface Found<T> {
  readonly value: T
  readonly after: number
}

/**
 * Looks until `what` is so: until there is an answer other than undefined. Throws {@link NotShown} where none comes within so many
 * milliseconds, or one of the programs has ended.
 *
 * @param since `performance.now()` from which the time counts
 */
export async function waitFor<T>(
  { site, agents, narrator, signal }: Scenery,
  what: string,
  found: (snapshot: Snapshot, elapsed: number) => T | undefined,
  { within = PATIENCE, since = performance.now() }: { within?: number; since?: number } = {},
): Promise<Found<T>> {
  let answer: Found<T> | undefined
  const seen = (snapshot: Snapshot): boolean => {
    const after = performance.now() - since
    const value = found(snapshot, after)
    if (value !== undefined) {
      answer = { value, after }
      return true
    }
    const ended = whatEnded(site.controller, agents)
    if (ended !== undefined) throw new NotShown(`${ended} while the demo waited until ${what}`)
    if (after > within) throw new NotShown(`gave up after ${within / 1000} s waiting until ${what}`)
    narrator.wait(what, after)
    return false
  }
  await observe(site.cluster, seen, signal)
  if (answer === undefined) throw new Error('a look ended without an answer')
  return answer
}
