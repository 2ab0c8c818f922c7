import { CONDITION_TYPES, type Condition, type ConditionType } from '../../agent/contract.ts'
import { printable } from './printable.ts'

/** One thing found out about a Node, in words for a person: what is, and where it is wanted, what to do next. */
export interface Verdict {
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase, stable: metrics and scripts rest on it. */
  readonly reason: string
  readonly message: string
}

export type Verdicts = Partial<Record<ConditionType, Verdict>>

/** As long as an Event's message may be; the schema takes more. */
export const MAX_MESSAGE = 1024

export function yes(reason: string, message: string): Verdict {
  return { status: 'True', reason, message: printable(message, MAX_MESSAGE) }
}

export function no(reason: string, message: string): Verdict {
  return { status: 'False', reason, message: printable(message, MAX_MESSAGE) }
}

export function unknown(reason: string, message: string): Verdict {
  return { status: 'Unknown', reason, message: printable(message, MAX_MESSAGE) }
}

/** RFC 3339 with seconds, as `metav1.Time` is written. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/**
 * The conditions after these verdicts. What was not judged this time stays as it was: the last good verdict holds
 * until a positive reason ends it. The transition time moves only with the status (Kubernetes API conventions).
 */
export function mergeConditions(
  previous: readonly Condition[],
  verdicts: Verdicts,
  context: { now: number; generation: number },
): Condition[] {
  const lastTransitionTime = timestamp(context.now)
  const merged: Condition[] = []
  for (const type of CONDITION_TYPES) {
    const before = previous.find((condition) => condition.type === type)
    const verdict = verdicts[type]
    if (verdict === undefined) {
      if (before !== undefined) merged.push(before)
      continue
    }
    merged.push({
      type,
      status: verdict.status,
      reason: verdict.reason,
      message: verdict.message,
      lastTransitionTime: before?.status === verdict.status ? before.lastTransitionTime : lastTransitionTime,
      observedGeneration: context.generation,
    })
  }
  return merged
}
