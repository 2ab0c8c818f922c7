import type { Condition, ConditionType, NodeReportStatus } from '../../agent/shared/node-report.ts'
import { hasUninitializedTaint } from '../node/initialization.ts'
import { LABEL_IDENTITY_LEVEL, TAINT_UNINITIALIZED } from '../node/well-known.ts'
import type { Node } from '../types/node.ts'
import type { Reason } from '../types/reasons.ts'
import type { ConditionValue, ConditionValues } from './condition-value.ts'

/** An Event on the Node. */
export interface NodeEvent {
  readonly type: 'Normal' | 'Warning'
  readonly reason: Reason
  readonly message: string
  /** Whose Event it is, where it is not Rollcall's own. */
  readonly component?: string
}

/** Conditions that are worth an Event when they become True. */
const GOOD_NEWS: readonly ConditionType[] = ['Initialized']

/** What a decision has to tell. */
export interface Told {
  /** Conditions that follow from identity and are worth an Event; undefined where nothing new is known of it. */
  readonly identity: ConditionValues | undefined
  readonly lifecycle: ConditionValues
  readonly deletionPending: ConditionValue | undefined
  /** Events besides those of conditions. */
  readonly events: { readonly identity: readonly NodeEvent[]; readonly lifecycle: readonly NodeEvent[] }
}

/** All Events of one decision on a Node. */
export function decisionEvents(
  { identity, lifecycle, deletionPending, events }: Told,
  {
    node,
    previous,
    now,
  }: { readonly node: NewNode; readonly previous: NodeReportStatus; readonly now: number },
): readonly NodeEvent[] {
  const { conditions: before = [] } = previous
  return [
    ...conditionEvents(before, { ...identity, ...lifecycle }),
    ...events.identity,
    ...(identity === undefined ? [] : untaintedEvents(node, previous, now)),
    ...(deletionPending === undefined ? [] : deletionEvents(before, deletionPending)),
    ...events.lifecycle,
  ]
}

/** One Event for each condition whose status or reason has changed; none for one that is as it was. */
export function conditionEvents(previous: readonly Condition[], conditions: ConditionValues): NodeEvent[] {
  const events: NodeEvent[] = []
  for (const [type, condition] of Object.entries(conditions)) {
    const before = previous.find((each) => each.type === type)
    if (before?.status === condition.status && before.reason === condition.reason) continue
    if (condition.status !== 'True') events.push(warning(condition))
    else if (GOOD_NEWS.some((good) => good === type)) events.push({ type: 'Normal', ...words(condition) })
  }
  return events
}

/** DeletionPending warns each time its reason changes, and is Normal when it ends. */
function deletionEvents(previous: readonly Condition[], condition: ConditionValue): NodeEvent[] {
  const before = previous.find(({ type }) => type === 'DeletionPending')
  if (before?.status === condition.status && before.reason === condition.reason) return []
  // VMFound already tells that the VM is missing; before the first probe there is nothing to add.
  if (condition.status === 'Unknown' && condition.reason === 'NotConfirmed') return []
  // Recorded after the deletion, with the same message.
  if (condition.reason === 'VMGone') return []
  return [condition.status === 'False' ? { type: 'Normal', ...words(condition) } : warning(condition)]
}

type NewNode = Pick<Node, 'labels' | 'taints' | 'providerID' | 'creationTimestamp'>

/** A Node younger than this, milliseconds, that has no taint and no history was registered without the taint. */
const YOUNG = 600_000

/** Recorded once: pods may have been scheduled to this Node before anybody knew which machine it is. */
function untaintedEvents(node: NewNode, { conditions = [] }: NodeReportStatus, now: number): NodeEvent[] {
  if (conditions.some(({ type }) => type === 'Initialized') || hasUninitializedTaint(node)) return []
  // No kubelet can set this label: a controller initialised the Node and died before it could write the report.
  if (node.labels[LABEL_IDENTITY_LEVEL] !== undefined) return []
  // A Node without a provider ID is refused for that reason anyway.
  if (node.providerID === undefined || now - Date.parse(node.creationTimestamp) > YOUNG) return []
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
