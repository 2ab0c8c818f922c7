import { percentile } from './percentile.ts'
import type { PushFigures, PushLatency } from './push.ts'
import { markdown } from './table.ts'

const PARTS: readonly (readonly [keyof PushLatency, string])[] = [
  ['total', 'from power-off to taint, ms'],
  ['unasked', 'of which: until the next poll'],
  ['vCenter', 'of which: until vCenter has answered'],
  ['rollcall', 'of which: controller and API server'],
]
/** Milliseconds. */
export const TAINT_BUDGET = 500
export const DELETION_BUDGET = 10_000

export function pushTable({ nodes, changes }: PushFigures): string {
  const row = (part: keyof PushLatency) => {
    const values = changes.map((change) => change[part])
    return [0.5, 0.95, 0.99, 1].map((share) => percentile(values, share).toFixed(0))
  }
  const rows = PARTS.map(([part, name]) => [
    name,
    ...row(part),
    part === 'total' ? `p99 < ${TAINT_BUDGET}` : '',
  ])
  return markdown(
    [`${nodes} nodes, ${changes.length} power-offs`, 'p50', 'p95', 'p99', 'max', 'budget'],
    rows,
  )
}

export function deletionTable({ deletions }: PushFigures): string {
  const times = deletions.map((ms) => (ms / 1000).toFixed(1)).join(', ')
  return markdown(
    ['VM destroyed to Node deleted', 'figure', 'budget'],
    [['beyond lifecycle.absentFor, s', times, `< ${DELETION_BUDGET / 1000}`]],
  )
}

/** Whether the budgets of time were kept. */
export function isWithinBudget({ changes, lost, deletions }: PushFigures): boolean {
  return (
    lost.length === 0 &&
    percentile(
      changes.map(({ total }) => total),
      0.99,
    ) < TAINT_BUDGET &&
    deletions.every((ms) => ms >= 0 && ms < DELETION_BUDGET)
  )
}
