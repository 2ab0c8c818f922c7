import type {
  ConditionType,
  IdentityLevel,
  NodeReportSpec,
  NodeReportStatus,
} from '../../../../agent/shared/node-report.ts'
import type { NodePatch } from '../../../types/node.ts'
import type { Reason } from '../../../types/reasons.ts'
import type { UnmetPrecondition } from './lifecycle/absence-proofs.ts'
import type { Span } from './lifecycle/brake.ts'
import type { ProbeRequest } from './lifecycle/evidence.ts'
import type { NodeEvent } from './node-events.ts'
import type { AbsentLabels } from './node-facts.ts'

/** What to do about one Node, and what to tell. */
export interface Decision {
  readonly state: 'unmanaged' | 'waiting' | 'refused' | 'initializing' | 'initialized'
  readonly level?: IdentityLevel
  /** What prevents the initialization, for the metric. */
  readonly refusal?: { readonly condition: ConditionType; readonly reason: Reason }
  /** The NodeReport to create for a Node without an agent. */
  readonly create?: NodeReportSpec
  /** Written before the status, which assumes that it was. */
  readonly patch?: NodePatch
  /** The NodeReport's wanted status; absent where there is no report or nothing to say. */
  readonly status?: NodeReportStatus
  readonly events: readonly NodeEvent[]
  /** Whether to requeue with backoff: no event will come. */
  readonly requeue: boolean
  /** Nodes that hold an address which this one wants: it is requeued when they give one up. */
  readonly waitsFor?: readonly string[]
  /** Milliseconds after which the passing of time alone changes the decision. */
  readonly requeueAfter?: number
  /** BIOS UUIDs to search the vCenters for again. */
  readonly recheck?: readonly string[]
  /** The probe of a VM that is missing or off; without one, earlier evidence is dropped. */
  readonly probePlan?: ProbePlan
  /** Of a Node whose VM is missing and was probed: what is missing before it may be deleted. For people. */
  readonly deletionUnmet?: readonly UnmetPrecondition[]
  /** The Node is to be deleted; then `confirmLease` is set too, so that the status which tells why is not put off. */
  readonly deletion?: Deletion
  /** The Node's VM and others that have its UUID and may run, for the metric: `VCENTER/MOREF` each. */
  readonly copies?: { readonly vm: string; readonly copies: readonly string[] }
  /** What the next decision is to know of labels whose value is gone; without it they are counted anew. */
  readonly absentLabels?: AbsentLabels
  /** Whether the leader must confirm its Lease before it acts on this. */
  readonly confirmLease?: boolean
}

export interface Deletion {
  /** The vCenter that had the VM. */
  readonly vCenter: string
  /** See `brakeGroup`. */
  readonly group: string
  /** When the VM vanished; undefined where it was removed on purpose and does not count for the brake. */
  readonly vanished: Span | undefined
  /** Recorded once the Node is deleted, ours and the CPI's. */
  readonly event: NodeEvent
  readonly cpiEvent: NodeEvent
}

/**
 * One missing VM, as the brake counts it. It vanished `from` when its vCenter was last known to show it, which is before
 * `since` where vCenter did not answer, `until` its machine was last known to be alive, which is after `since` where its
 * kubelet has spoken since.
 */
export interface Absence extends Span {
  /** The Nodes among which it counts: see `brakeGroup`. */
  readonly group: string
  /** When it first went missing, monotonic. */
  readonly since: number
  /** Whether it counts toward the limit. */
  readonly counts: boolean
  /** Whether its machine lives, so that vCenter is wrong about it: see `livesOn` and `speaksByKubeletAlone`. */
  readonly lives: boolean
  /** Whether it may still come to count. */
  readonly pending: boolean
  /** Whether the brake is engaged for this Node. */
  readonly latched: boolean
  /** Whether the brake keeps this Node from being deleted. */
  readonly held: boolean
  /** Whether few enough of the group are missing for the brake to be released. */
  readonly few: boolean
  /** Whether vCenter is wrong about too many machines of the group. */
  readonly doubted: boolean
}

/** Which probe a Node needs, and whether it is due. */
export interface ProbePlan {
  readonly request: ProbeRequest
  /** Whether to send it now. */
  readonly due: boolean
  /** Whether no search finds the VM; absent where it is merely off. */
  readonly missing?: true
  /** How the missing VM counts for the deletion brake; undefined where it does not: the VM is off, or there after all, or its Node is deleted now. */
  readonly absence?: Absence
}
