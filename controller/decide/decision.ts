import type { ConditionType, IdentityLevel, NodeReportSpec, NodeReportStatus } from '../../agent/contract.ts'
import type { Reason } from '../types/reasons.ts'
import type { ConditionValues } from './condition.ts'
import type { NodeEvent } from './events.ts'
import type { ProbeRequest } from './lifecycle/evidence.ts'
import type { NodePatch } from './node-patch.ts'

/** What stands in the way, for the metric. */
export interface Refusal {
  readonly condition: ConditionType
  readonly reason: Reason
}

/** What should be done about one Node, and what should be said. */
export interface Decision {
  readonly state: 'invisible' | 'waiting' | 'refused' | 'initializing' | 'initialized'
  readonly level?: IdentityLevel
  readonly refusal?: Refusal
  /** The NodeReport to be made for a Node that does without an agent. */
  readonly create?: NodeReportSpec
  /** Written before the status, which speaks as if it had been. */
  readonly patch?: NodePatch
  /** The NodeReport's status as it should stand; absent where there is no report or nothing to say. */
  readonly status?: NodeReportStatus
  readonly events: readonly NodeEvent[]
  /** Whether to requeue with backoff: no event will come. */
  readonly requeue: boolean
  /** Nodes that hold an address which this one wants: it is to be looked at when they give one up. */
  readonly waitsFor?: readonly string[]
  /** Milliseconds after which the passing of time alone changes the decision. */
  readonly requeueAfter?: number
  /** BIOS UUIDs to search the vCenters for again. */
  readonly recheck?: readonly string[]
  /** The probe of a VM that is missing or off; without one, earlier evidence is dropped. */
  readonly probePlan?: ProbePlan
  /** The Node is to be deleted. */
  readonly deletion?: Deletion
  /** Whether only a leader that is sure of its Lease may do this. */
  readonly fenced?: boolean
}

/** What follows from who a Node is alone, before the state of its machine has its say. */
export interface IdentityDecision
  extends Omit<Decision, 'create' | 'status' | 'probePlan' | 'deletion' | 'fenced'> {
  /** What was found out; absent where nothing was, and the report's status stands as it is. */
  readonly status?: {
    readonly conditions: ConditionValues
    /** The parts of the status that are no conditions. Without a level here the Node has none any more. */
    readonly fields: Partial<NodeReportStatus>
  }
}

export interface Deletion {
  /** The vCenter that had the VM. */
  readonly vCenter: string
  /** See `groupOf`. */
  readonly group: string
  /** Monotonic; undefined where the VM's removal was meant, and does not count for the brake. */
  readonly absentSince: number | undefined
  /** Told when the Node is gone. */
  readonly event: NodeEvent
}

/** One missed VM, as the brake counts it. */
export interface Absence {
  /** Among which Nodes it counts: see `groupOf`. */
  readonly group: string
  /** Since when it is missed, monotonic. */
  readonly since: number
  /** Until when its machine may have been there: later than that where its kubelet has spoken meanwhile. */
  readonly until: number
  /** Whether it counts. */
  readonly counts: boolean
  /** Whether it may yet come to count. */
  readonly pending: boolean
  /** Whether the brake has closed for the Node... */
  readonly latched: boolean
  /** ... and whether it keeps the Node. */
  readonly held: boolean
  /** Whether few of these Nodes are missed. */
  readonly few: boolean
}

/** Which probe a Node needs, and whether it is due. */
export interface ProbePlan {
  readonly request: ProbeRequest
  /** Whether to send it now. */
  readonly due: boolean
  /** How the missing VM counts for the deletion brake; undefined where the VM is merely off. */
  readonly absence?: Absence
}
