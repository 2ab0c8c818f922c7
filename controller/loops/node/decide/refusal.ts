import type {
  ConditionType,
  IdentityLevel,
  NodeAddress,
  NodeReportStatus,
} from '../../../../agent/shared/node-report.ts'
import type { PolicyState } from '../../../types/policy-state.ts'
import { type ConditionValue, type ConditionValues, no, unknown } from './condition-value.ts'
import type { Binding } from './identity/binding.ts'

/** What a stage says of a Node that it refuses. */
export interface RefusalDetails {
  readonly type: ConditionType
  readonly condition: ConditionValue
  /**
   * Whether this ends what was verified before. Something that merely cannot be verified again, such as a garbled report
   * or a VM that is not found, ends nothing.
   */
  readonly ends: boolean
  /** Conditions that were decided before the refusal. */
  readonly passed?: ConditionValues
  /** The level that was reached nevertheless. */
  readonly level?: IdentityLevel
  /** Addresses that were verified nevertheless: the Node shows them while it waits for more. */
  readonly addresses?: readonly NodeAddress[] | undefined
  /** Other parts of the status that were decided before the refusal. */
  readonly fields?: Partial<NodeReportStatus>
  /** Which VM the Node is, where that was decided before the refusal. */
  readonly binding?: Binding
  /** BIOS UUIDs to search the vCenters for again. */
  readonly recheck?: readonly string[]
  /** The decision's state; `waiting` where nobody has to do anything. */
  readonly state?: 'refused' | 'waiting'
}

/** @param why the condition that explains the level reached */
export function levelTooLow(
  level: IdentityLevel,
  required: IdentityLevel,
  why: ConditionValue,
): ConditionValue {
  return no(
    'LevelTooLow',
    `the identity is ${level}, the configuration requires ${required} (identity.require): ${why.message}`,
  )
}

/** While anyone may write any report, no report is believed. */
export function policyNotInForce({
  message,
}: Extract<PolicyState, { state: 'not-in-force' }>): ConditionValue {
  return unknown('PolicyNotInForce', `no report is believed: ${message}`)
}
