import { PAIRS } from './faults/all.ts'
import { type RunResult, simulate } from './run.ts'

/** Runs one seed after the other. */
export interface Series {
  readonly steps: number
  readonly runs: number
  readonly deletions: number
  /** Indexes of the pairs of faults that were active at once. */
  readonly pairs: ReadonlySet<number>
  /** The runs in which a promise was broken. */
  readonly broken: readonly RunResult[]
}

export interface SeriesOptions {
  readonly seed: number
  /** Ends with the run in which so many are reached... */
  readonly steps: number
  /** ... or with so many runs in which a promise was broken. */
  readonly mostBroken: number
  readonly onRun?: (result: RunResult) => void
}

export async function simulateSeries({ seed, steps, mostBroken, onRun }: SeriesOptions): Promise<Series> {
  const pairs = new Set<number>()
  const broken: RunResult[] = []
  const sums = { steps: 0, runs: 0, deletions: 0 }
  while (sums.steps < steps && broken.length < mostBroken) {
    const result = await simulate(seed + sums.runs)
    sums.runs++
    sums.steps += result.steps
    sums.deletions += result.deletions
    for (const pair of result.pairs) pairs.add(pair)
    if (result.violation !== undefined) broken.push(result)
    onRun?.(result)
  }
  return { ...sums, pairs, broken }
}

/** The pairs that were never active at once, in words. */
export function uncovered(pairs: ReadonlySet<number>): readonly string[] {
  return PAIRS.flatMap(([a, b], index) => (pairs.has(index) ? [] : [`${a} + ${b}`]))
}
