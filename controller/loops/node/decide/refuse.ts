import type {
  ConditionType,
  IdentityLevel,
  NodeAddress,
  NodeReportStatus,
} from '../../../../agent/shared/node-report.ts'
import type { PolicyState } from '../../../types/cluster-state.ts'
import { type ConditionValue, type ConditionValues, no, unknown } from '../../../types/condition-value.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { type Binding, type Draft, recordIdentity } from './draft.ts'
import type { NodeFacts } from './node-facts.ts'
import { changedAddresses, levelLabel } from './node-patch.ts'
import { noLongerRefused } from './rejected-write.ts'

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

/** The draft that leaves a Node as it is, except for its level label and verified addresses, and says why. */
export function refuse(draft: Draft, refused: RefusalDetails, facts: NodeFacts): Draft {
  const { node, previous } = facts
  const { type, ends, passed = {}, fields = {}, addresses, binding, recheck, state = 'refused' } = refused
  const { identityLevel: before, provenUntil } = previous
  const level = refused.level ?? (ends ? undefined : before)
  const stands = !ends && before !== undefined
  const condition =
    stands && type === 'IdentityVerified' ? doubted(refused.condition, before) : refused.condition
  const conditions: ConditionValues = {
    ...passed,
    ...noLongerRefused(node, previous, condition),
    [type]: condition,
  }
  if (type === 'VMFound' && condition.status === 'False' && !stands) {
    conditions.IdentityVerified = unknown(condition.reason, `no VM to verify: ${condition.message}`)
  }
  if (needsInitialization(node)) conditions.Initialized = no(condition.reason, condition.message)
  const labels = needsInitialization(node) && level !== undefined ? {} : levelLabel(node, level)
  const { level: _, ...unleveled } = recordIdentity(
    draft,
    {
      conditions,
      told: { ...(passed.VMUnique === undefined ? {} : { VMUnique: passed.VMUnique }), [type]: condition },
      fields: {
        ...(stands && provenUntil !== undefined ? { provenUntil } : {}),
        ...(level === undefined ? {} : { identityLevel: level }),
        ...fields,
      },
      binding,
    },
    facts,
  )
  return {
    ...unleveled,
    state,
    ...(level === undefined ? {} : { level }),
    refusal: { condition: type, reason: condition.reason },
    patch: {
      ...draft.patch,
      ...changedAddresses(node, addresses),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    },
    // The cause may be fixed elsewhere (another Node, a tag, a privilege), and a reconcile costs no call. One after a fixed time
    // needs no backoff.
    requeue: draft.requeueAfter === undefined,
    ...(recheck === undefined ? {} : { recheck: rechecked(draft, recheck) }),
  }
}

/** A VM that is being probed does not also need a search, unless what happened to its machine asks for one. */
function rechecked({ probePlan, recheck = [] }: Draft, uuids: readonly string[]): readonly string[] {
  const probed = probePlan?.request.vm.biosUUID
  return [...new Set([...uuids.filter((uuid) => uuid !== probed), ...recheck])]
}

/** The condition for a Node that stays verified although it cannot be verified again at present. */
function doubted({ reason, message }: ConditionValue, level: IdentityLevel): ConditionValue {
  return unknown(
    reason,
    `${message}; the previous verification (${level}) remains valid until something contradicts it`,
  )
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
