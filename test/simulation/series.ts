import { PAIRS } from './faults/all.ts'
import { simulate } from './run.ts'
import type { RunResult } from './run-world.ts'
import { shrinkRun } from './shrink.ts'

/** Runs one seed after the other. */
export interface Series {
  readonly steps: number
  readonly runs: number
  readonly deletions: number
  /** Indexes of the pairs of faults that were active at once. */
  readonly pairs: ReadonlySet<number>
  /** The runs in which a promise was broken. */
  readonly broken: readonly BrokenRun[]
}

export interface BrokenRun {
  /** The run of the seed. */
  readonly whole: RunResult
  /** The same with as few faults as it takes, where they were looked for. */
  readonly least: RunResult
}

export interface SeriesOptions {
  readonly seed: number
  /** Ends with the run in which so many are reached... */
  readonly steps: number
  /** ... or with so many runs in which a promise was broken. */
  readonly mostBroken: number
  /** Of each run, these faults alone, by their IDs. */
  readonly only?: ReadonlySet<string> | undefined
  /** See `SimulateOptions`. */
  readonly about?: ReadonlySet<string> | undefined
  /** Whether to look for the fewest faults that break a promise. */
  readonly shrinks: boolean
  readonly onBroken?: (broken: BrokenRun) => void
  /** Told after each run how many steps there were so far. */
  readonly onRun?: (steps: number) => void
}

export async function simulateSeries(options: SeriesOptions): Promise<Series> {
  const { seed, steps, mostBroken, only, about, shrinks, onBroken, onRun } = options
  const pairs = new Set<number>()
  const broken: BrokenRun[] = []
  const sums = { steps: 0, runs: 0, deletions: 0 }
  while (sums.steps < steps && broken.length < mostBroken) {
    const result = await simulate(seed + sums.runs, { only, about })
    sums.runs++
    sums.steps += result.steps
    sums.deletions += result.deletions
    for (const pair of result.pairs) pairs.add(pair)
    onRun?.(sums.steps)
    if (result.violation === undefined) continue
    const found = { whole: result, least: shrinks ? await shrinkRun(result, about) : result }
    broken.push(found)
    onBroken?.(found)
  }
  return { ...sums, pairs, broken }
}

/** The pairs that were never active at once, in words. */
export function uncovered(pairs: ReadonlySet<number>): readonly string[] {
  return PAIRS.flatMap(([a, b], index) => (pairs.has(index) ? [] : [`${a} + ${b}`]))
}
