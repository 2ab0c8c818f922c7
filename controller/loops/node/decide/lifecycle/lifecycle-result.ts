import type { BoundVM, NodeReportStatus } from '../../../../../agent/shared/node-report.ts'
import type { Taint } from '../../../../types/node.ts'
import type { ConditionValue } from '../condition-value.ts'
import type { Deletion, ProbePlan } from '../decision.ts'
import type { NodeEvent } from '../node-events.ts'
import type { UnmetPrecondition } from './absence-proofs.ts'
import type { AbsenceStatus } from './judge-disruption-limit.ts'

/** What follows from the state of a Node's machine, whatever its report says now. */
export interface LifecycleResult {
  /** Replaces the condition that the search by UUID gave. */
  readonly vmFound?: ConditionValue
  /** Undefined where there is nothing to say about a deletion. */
  readonly deletionPending?: ConditionValue
  /** What is missing before the Node may be deleted; undefined where no VM is missing, or nothing is known of it yet. */
  readonly deletionUnmet?: readonly UnmetPrecondition[]
  /** Whether its absence could be proven at all; undefined where there is nothing to say of that. */
  readonly deletionPossible?: ConditionValue
  /** What the status says while the VM is missing. */
  readonly absenceStatus?: AbsenceStatus
  readonly taints?: readonly Taint[]
  readonly deletion?: Deletion
  /** Whether the effects cannot be undone, so that the leader must confirm its Lease first. */
  readonly confirmLease: boolean
  /** True when the `proceed` annotation should be removed because the VM is back. */
  readonly removesAnnotation: boolean
  /** The other VM that must be gone too, for the status. */
  readonly namedVM?: BoundVM
  readonly probePlan?: ProbePlan
  /** BIOS UUIDs of probed machines to search for as well: one search costs less than a probe. */
  readonly recheck: readonly string[]
  readonly requeueAfter?: number
  readonly events: readonly NodeEvent[]
}

/** The result where nothing follows. */
export const NOTHING: LifecycleResult = {
  confirmLease: false,
  removesAnnotation: false,
  recheck: [],
  events: [],
}

/** Keeps the other VM in the status as it is. */
export function keptVM({ namedVM }: NodeReportStatus): Pick<LifecycleResult, 'namedVM'> {
  return namedVM === undefined ? {} : { namedVM }
}

/** Nothing follows; what the status says of a VM that is missing stays as it is. */
export function untouched(status: NodeReportStatus): LifecycleResult {
  const { absentSince, brakeEngagedAt, brakeEngagedFor } = status
  return {
    ...NOTHING,
    ...keptVM(status),
    absenceStatus: {
      ...(absentSince === undefined ? {} : { absentSince }),
      ...(brakeEngagedAt === undefined
        ? {}
        : { brakeEngagedAt, ...(brakeEngagedFor === undefined ? {} : { brakeEngagedFor }) }),
    },
  }
}
