/** What the runner says, in lines. */
import { KINDS, PAIRS } from './faults/all.ts'
import type { Mutation } from './mutations/mutation.ts'
import type { Trial } from './mutations/try.ts'
import { type BrokenRun, type Series, uncovered } from './series.ts'

/** A run in which a promise was broken, by the fewest faults, and how to see it again. */
export function brokenLines(
  { whole, least }: BrokenRun,
  about: ReadonlySet<string> | undefined,
): readonly string[] {
  const { seed, steps, time, violation, faults, trace } = least
  if (violation === undefined) return []
  const ids = faults.map(({ id }) => id).join(',')
  return [
    '',
    `BROKEN: ${violation.promise}`,
    `  ${violation.what}`,
    `  seed ${seed}, step ${steps}, ${seconds(time)} s of the model's time`,
    `  by ${faults.length} of the ${whole.faults.length} faults that had begun:`,
    ...faults.map(
      ({ id, kind, at, begin, end }) =>
        `    ${id}  ${kind} at ${at}, ${seconds(begin)} s to ${seconds(end)} s`,
    ),
    '  the last steps:',
    ...trace.map((line) => `    ${line}`),
    `  again: npm run simulate -- --seed ${seed}${about === undefined ? '' : ` --about ${[...about].join(',')}`} --faults ${ids === '' ? 'none' : ids}`,
  ]
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3)
}

/** Of the pairs that never met, so many are named. */
const NAMED = 10

export function seriesLines(series: Series, firstSeed: number, seconds: number): readonly string[] {
  const { steps, runs, pairs, deletions, broken } = series
  const missing = uncovered(pairs)
  return [
    '',
    `steps        ${steps.toLocaleString('en')} in ${seconds.toFixed(1)} s (${Math.round(steps / seconds).toLocaleString('en')}/s)`,
    `seeds        ${firstSeed} to ${firstSeed + runs - 1}`,
    `deletions    ${deletions} Nodes`,
    `fault pairs  ${pairs.size} of ${PAIRS.length} pairs of ${KINDS.length} kinds were active at once`,
    ...missing.slice(0, NAMED).map((pair) => `  never: ${pair}`),
    ...(missing.length > NAMED ? [`  never: ${missing.length - NAMED} more; run more steps`] : []),
    `violations   ${broken.length}`,
  ]
}

export function trialLine({ name }: Mutation, { tried, caught, failure }: Trial): string {
  const outcome =
    caught === undefined
      ? (failure ?? `NOT NOTICED in ${tried.toLocaleString('en')} steps`)
      : `seed ${caught.seed}, step ${caught.step}: ${caught.promise}`
  return withoutLine(name, outcome)
}

/** The same of one that only a fixed scene can notice. */
export function sceneLine({ name }: Mutation, isNoticed: boolean): string {
  return withoutLine(name, isNoticed ? 'in its fixed scene' : 'NOT NOTICED in its fixed scene')
}

function withoutLine(name: string, outcome: string): string {
  return `without ${name.padEnd(58)} ${outcome}`
}
