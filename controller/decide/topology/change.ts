import type { TopologyConfig } from '../../config/config.ts'
import { printable } from '../../printable.ts'
import type { Node } from '../../types/node.ts'
import { type ConditionValue, MAX_MESSAGE, no } from '../condition-value.ts'
import type { NodeEvent } from '../node-events.ts'

/** A label of a running Node that differs from what vCenter says now. */
export interface LabelChange {
  readonly label: string
  readonly from: string
  readonly to: string
}

/** @param wanted labels with vCenter's values; undefined where it says nothing */
export function labelChanges(
  { labels }: Pick<Node, 'labels'>,
  wanted: readonly (readonly [string, string | undefined])[],
): readonly LabelChange[] {
  return wanted.flatMap(([label, to]) => {
    const from = labels[label]
    return from === undefined || to === undefined || from === to ? [] : [{ label, from, to }]
  })
}

/**
 * The condition for a VM that moved to another zone or region, or was resized, while its Node runs. Changing the zone of a
 * running Node strands its volumes (kubernetes/kubernetes#64021), so by default this is only reported.
 *
 * @param resolved the condition about the tags themselves, which comes first where it is not True
 */
export function judgeChanges(
  changes: readonly LabelChange[],
  { onChange }: TopologyConfig,
  resolved: ConditionValue,
): { readonly condition: ConditionValue; readonly events: readonly NodeEvent[] } {
  if (changes.length === 0 || onChange === 'ignore') return { condition: resolved, events: [] }
  if (onChange === 'relabel') {
    const how = changes.map(({ label, from, to }) => `${label} from ${from} to ${to}`).join(', ')
    const message = `the VM moved or was changed, so the labels were changed: ${how}`
    return {
      condition: resolved,
      events: [{ type: 'Normal', reason: 'Relabelled', message: printable(message, MAX_MESSAGE) }],
    }
  }
  if (resolved.status !== 'True') return { condition: resolved, events: [] }
  const what = changes
    .map(({ label, from, to }) => `label ${label} is ${from}, and vCenter says ${to}`)
    .join('; ')
  return {
    condition: no(
      'TopologyChanged',
      `${what}: the VM moved or changed, but pods and volumes may depend on the old value; move it back, or drain and delete the Node so that it registers again, or set topology.onChange to relabel or ignore`,
    ),
    events: [],
  }
}
