import type { BoundVM, NodeReportStatus } from '../../../agent/contract.ts'
import type { Taint } from '../../types/node.ts'
import type { ConditionValue } from '../condition.ts'
import type { Deletion, ProbePlan } from '../decision.ts'
import type { NodeEvent } from '../events.ts'
import type { AbsenceStatus } from './judge-disruption-limit.ts'

/** What follows from the state of the machine that a Node is, or was taken for, whatever its report says. */
export interface Lifecycle {
  /** In the place of what the search by UUID came to. */
  readonly vmFound?: ConditionValue
  /** Undefined where there is nothing to say of a deletion. */
  readonly deletionPending?: ConditionValue
  /** Whether its absence could be proven at all; undefined where there is nothing to say of that. */
  readonly deletionPossible?: ConditionValue
  /** What is to stand in the status as long as the VM is missed. */
  readonly absence?: AbsenceStatus
  readonly taints?: readonly Taint[]
  readonly deletion?: Deletion
  /** Whether what is to be done cannot be undone. */
  readonly fenced: boolean
  /** Whether the person's leave to delete has had its day. */
  readonly takesLeaveBack: boolean
  /** The binding as it is to stand, where the VM was registered again. */
  readonly rebound?: BoundVM
  /** The other VM that must be gone too, as it is to stand. */
  readonly namedVM?: BoundVM
  readonly probePlan?: ProbePlan
  /** Whether to search for the VM as well: one search costs less than a probe. */
  readonly searches: boolean
  readonly requeueAfter?: number
  readonly events: readonly NodeEvent[]
}

/** Of a Node of which nothing follows. */
export const NOTHING: Lifecycle = {
  fenced: false,
  takesLeaveBack: false,
  searches: false,
  events: [],
}

/** The other VM, as it stands. */
export function keptVM({ namedVM }: NodeReportStatus): Pick<Lifecycle, 'namedVM'> {
  return namedVM === undefined ? {} : { namedVM }
}

/** Leaves what stands in the status of a VM that is missed as it is. */
export function untouched(status: NodeReportStatus): Lifecycle {
  const { absentSince, brakeClosedAt, brakeClosedFor } = status
  return {
    ...NOTHING,
    ...keptVM(status),
    absence: {
      ...(absentSince === undefined ? {} : { absentSince }),
      ...(brakeClosedAt === undefined ? {} : { brakeClosedAt }),
      ...(brakeClosedFor === undefined ? {} : { brakeClosedFor }),
    },
  }
}
