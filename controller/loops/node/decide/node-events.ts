import type { Condition, ConditionType } from '../../../../agent/shared/node-report.ts'
import type { ConditionValue, ConditionValues } from '../../../types/condition-value.ts'
import type { Reason } from '../../../types/reasons.ts'
import { LABEL_IDENTITY_LEVEL, TAINT_UNINITIALIZED } from '../../../types/well-known.ts'
import { hasUninitializedTaint } from '../facts/needs-initialization.ts'
import { judgeProviderID } from '../facts/provider-id.ts'
import type { NodeFacts } from './node-facts.ts'

export interface NodeEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: Reason
  readonly message: string
  /** Whose Event it is, where it is not Rollcall's own. */
  readonly component?: string
}

/** Conditions that are worth an Event when they become True. */
const GOOD_NEWS: readonly ConditionType[] = ['Initialized']

/** One Event for each condition whose status or reason has changed; none for one that is as it was. */
export function conditionEvents(previous: readonly Condition[], conditions: ConditionValues): NodeEvent[] {
  const events: NodeEvent[] = []
  for (const [type, condition] of Object.entries(conditions)) {
    const before = previous.find((each) => each.type === type)
    if (before?.status === condition.status && before.reason === condition.reason) continue
    if (type === 'DeletionPending') events.push(...deletionEvents(condition))
    else if (condition.status !== 'True') events.push(warning(condition))
    else if (GOOD_NEWS.some((good) => good === type)) events.push({ type: 'Normal', ...words(condition) })
  }
  return events
}

/** DeletionPending warns each time its reason changes, and is Normal when it ends. */
function deletionEvents(condition: ConditionValue): NodeEvent[] {
  // VMFound already tells that the VM is missing; before the first probe there is nothing to add.
  if (condition.status === 'Unknown' && condition.reason === 'NotConfirmed') return []
  // Recorded after the deletion, with the same message.
  if (condition.reason === 'VMGone') return []
  return [condition.status === 'False' ? { type: 'Normal', ...words(condition) } : warning(condition)]
}

/** A Node younger than this, milliseconds, that has no taint and no history was registered without the taint. */
const YOUNG = 600_000

/** Conditions that show that this Event was recorded. A refused Node may have only the second. */
const SAID_AT_FIRST: readonly ConditionType[] = ['Initialized', 'IdentityVerified']

/** Recorded once: pods may have been scheduled to this Node before anybody knew which machine it is. */
export function untaintedEvents({
  node,
  previous: { conditions = [] },
  now,
}: Pick<NodeFacts, 'node' | 'previous' | 'now'>): NodeEvent[] {
  if (conditions.some(({ type }) => SAID_AT_FIRST.includes(type)) || hasUninitializedTaint(node)) return []
  // No kubelet can set this label: a controller initialized the Node and died before it could write the report.
  if (node.labels[LABEL_IDENTITY_LEVEL] !== undefined) return []
  // A Node without a provider ID, or with another provider's, is refused for that reason anyway.
  if (judgeProviderID(node.providerID, undefined) !== 'ours') return []
  if (now - Date.parse(node.creationTimestamp) > YOUNG) return []
  const message = `the Node was registered without the taint ${TAINT_UNINITIALIZED}, so pods may run there unverified; start its kubelet with --cloud-provider=external`
  return [{ type: 'Warning', reason: 'RegisteredUntainted', message }]
}

export function warning(condition: ConditionValue): NodeEvent {
  return { type: 'Warning', ...words(condition) }
}

/** The part of a condition that an Event takes. */
export function words({ reason, message }: ConditionValue): Pick<ConditionValue, 'reason' | 'message'> {
  return { reason, message }
}

/** The Events that the CPI's controllers record, for those who watch for them; ours, which say more, stand beside them. */

/** As of cloud-provider's node controller, once a Node is initialized. */
export const SYNCED: NodeEvent = {
  type: 'Normal',
  reason: 'Synced',
  message: 'Node synced successfully',
  component: 'cloud-node-controller',
}

/** As of cloud-provider's node lifecycle controller; recorded here once the Node is deleted. */
export function deletingNode(name: string): NodeEvent {
  return {
    type: 'Normal',
    reason: 'DeletingNode',
    message: `Deleting node ${name} because it does not exist in the cloud provider`,
    component: 'cloud-node-lifecycle-controller',
  }
}
