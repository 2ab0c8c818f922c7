import type { IdentityLevel } from '../../../../agent/shared/node-report.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { type ConditionValue, type ConditionValues, no, unknown } from './condition-value.ts'
import type { IdentityDecision } from './decision.ts'
import type { NodeFacts } from './node-facts.ts'
import { changedAddresses, levelLabel } from './node-patch.ts'
import type { RefusalDetails } from './refusal.ts'
import { noLongerRefused } from './rejected-write.ts'

/** The decision that leaves a Node as it is, except for its level label and verified addresses, and says why. */
export function refuse(
  { node, previous }: Pick<NodeFacts, 'node' | 'previous'>,
  refused: RefusalDetails,
): IdentityDecision {
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
  const patch = {
    ...changedAddresses(node, addresses),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
  }
  return {
    state,
    ...(level === undefined ? {} : { level }),
    refusal: { condition: type, reason: condition.reason },
    ...(Object.keys(patch).length === 0 ? {} : { patch }),
    status: {
      conditions,
      told: { ...(passed.VMUnique === undefined ? {} : { VMUnique: passed.VMUnique }), [type]: condition },
      fields: {
        ...(stands && provenUntil !== undefined ? { provenUntil } : {}),
        ...(level === undefined ? {} : { identityLevel: level }),
        ...fields,
      },
      ...(binding === undefined ? {} : { binding }),
    },
    events: [],
    // The cause may be fixed elsewhere (another Node, a tag, a privilege), and a reconcile costs no call.
    requeue: true,
    ...(recheck === undefined ? {} : { recheck }),
  }
}

/** The condition for a Node that stays verified although it cannot be verified again at present. */
function doubted({ reason, message }: ConditionValue, level: IdentityLevel): ConditionValue {
  return unknown(
    reason,
    `${message}; what was verified before (${level}) stands until something contradicts it`,
  )
}
