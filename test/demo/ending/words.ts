import type { Condition, ConditionType } from '../../../agent/shared/node-report.ts'
import type { ObservedEvent } from '../events.ts'
import type { ObservedReport } from '../view.ts'

export function conditionOf(report: ObservedReport | undefined, type: ConditionType): Condition | undefined {
  return report?.status?.conditions?.find((condition) => condition.type === type)
}

/** As "DeletionPending is True, NotConfirmed: ...". */
export function sayCondition({ type, status, reason, message }: Condition): string {
  return `${type} is ${status}, ${reason}: ${message}`
}

/** As "Event NodeDeleted: ...". */
export function sayEvent({ reason = '', message = '' }: ObservedEvent): string {
  return `Event ${reason}: ${message}`
}
