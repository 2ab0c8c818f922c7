/** Finds the few faults that a broken promise takes. */
import { simulate } from './run.ts'
import type { RunResult } from './run-world.ts'

/** So many runs at most, some tenths of a second each. */
const MOST_RUNS = 200
/** How much later than in the whole run a promise may be broken, milliseconds of the model's time. */
const LATER = 60_000

/** The same run with as few faults as break the same promise; that run itself where none was broken. */
export async function shrinkRun(run: RunResult, about?: ReadonlySet<string>): Promise<RunResult> {
  const promise = run.violation?.promise
  if (promise === undefined) return run
  let [least, left] = [run, MOST_RUNS]
  await shrink(
    run.faults.map(({ id }) => id),
    async (ids) => {
      if (left-- <= 0) return false
      const result = await simulate(run.seed, { only: new Set(ids), about, until: run.time + LATER })
      if (result.violation?.promise !== promise) return false
      least = result
      return true
    },
  )
  return least
}

/**
 * Leaves out what is not needed for `holds`, which holds for the whole list: first halves, then ever smaller parts, until it
 * holds without no single one. Returns what is left, in its order.
 */
export async function shrink<T>(
  list: readonly T[],
  holds: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = list
  let size = list.length
  while (size > 0) {
    const before = kept.length
    for (let at = 0; at < kept.length; ) {
      const some = kept.toSpliced(at, size)
      if (await holds(some)) kept = some
      else at += size
    }
    // What was needed may not be, once others are gone.
    if (size > 1 || kept.length === before) size >>= 1
  }
  return kept
}
