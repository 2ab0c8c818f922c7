import {
  CONDITION_TYPES,
  type Condition,
  type ConditionType,
  timestamp,
} from '../../agent/shared/node-report.ts'
import { printable } from '../../agent/shared/printable.ts'
import type { Reason } from './reasons.ts'

/**
 * What becomes a condition of the report: one finding about a Node, and for a person what to do next. The texts stand
 * where they are decided: search for the reason.
 */
export interface ConditionValue {
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: Reason
  readonly message: string
}

export type ConditionValues = Partial<Record<ConditionType, ConditionValue>>

/** As long as an Event's message may be; the schema takes more. */
export const MAX_MESSAGE = 1024

export function yes(reason: Reason, message: string): ConditionValue {
  return { status: 'True', reason, message: printable(message, MAX_MESSAGE) }
}

export function no(reason: Reason, message: string): ConditionValue {
  return { status: 'False', reason, message: printable(message, MAX_MESSAGE) }
}

export function unknown(reason: Reason, message: string): ConditionValue {
  return { status: 'Unknown', reason, message: printable(message, MAX_MESSAGE) }
}

/**
 * The previous conditions with these in their place. A condition that was not set this time stays as it was: what was
 * verified holds until a positive reason ends it. The transition time moves only with the status (Kubernetes API conventions),
 * or when a VM that is found is powered off or on: people read it as the time of that.
 */
export function mergeConditions(
  previous: readonly Condition[],
  conditions: ConditionValues,
  context: { now: number; generation: number },
): Condition[] {
  const lastTransitionTime = timestamp(context.now)
  const merged: Condition[] = []
  for (const type of CONDITION_TYPES) {
    const before = previous.find((each) => each.type === type)
    const condition = conditions[type]
    if (condition === undefined) {
      if (before !== undefined) merged.push(before)
      continue
    }
    merged.push({
      type,
      status: condition.status,
      reason: condition.reason,
      message: condition.message,
      lastTransitionTime:
        before !== undefined && isSameState(before, condition)
          ? before.lastTransitionTime
          : lastTransitionTime,
      observedGeneration: context.generation,
    })
  }
  return merged
}

/** Reasons of VMFound while it is True and the VM does not run. */
const OFF: readonly string[] = ['VMPoweredOff', 'VMSuspended'] satisfies readonly Reason[]

function isSameState(one: Pick<Condition, 'status' | 'reason'>, other: typeof one): boolean {
  const offAs = ({ reason }: typeof one) => OFF.find((each) => each === reason)
  return one.status === other.status && offAs(one) === offAs(other)
}
