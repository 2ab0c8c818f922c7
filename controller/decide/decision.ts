import type { ConditionType, IdentityLevel, NodeReportSpec, NodeReportStatus } from '../../agent/contract.ts'
import type { Announcement } from './announce.ts'
import type { NodePatch } from './node-patch.ts'

/** What stands in the way, for the metric. */
export interface Refusal {
  readonly condition: ConditionType
  readonly reason: string
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
  readonly announcements: readonly Announcement[]
  /** Whether to look again by itself, with backoff: nothing will call. */
  readonly retry: boolean
  /** Milliseconds after which time alone changes the decision. */
  readonly again?: number
  /** BIOS UUIDs to ask the vCenters for again. */
  readonly recheck?: readonly string[]
}
