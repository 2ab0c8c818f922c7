/**
 * Which labels a Node is to have by rule. Only what Rollcall wrote, and nobody has changed since, is changed or removed: the
 * Node's record says what that is. A value that is not known changes nothing, and one that is gone counts only after all was read
 * twice.
 */
import { printable } from '../../../../../agent/shared/printable.ts'
import { type ConditionValue, MAX_MESSAGE, no, unknown, yes } from '../../../../types/condition-value.ts'
import { ANNOTATION_LABELS, formatRecord, type LabelRecord, parseRecord } from '../../../../types/labels.ts'
import type { Node, NodePatch } from '../../../../types/node.ts'
import type { Ancestry, VirtualMachine } from '../../../../types/virtual-machine.ts'
import { OWN_PREFIX } from '../../../../types/well-known.ts'
import { hasUninitializedTaint } from '../../facts/needs-initialization.ts'
import type { NodeEvent } from '../node-events.ts'
import type { AbsentLabels, NodeFacts } from '../node-facts.ts'
import { type SourceValue, valueByRule } from './source-value.ts'

export interface RuledLabels {
  /** Part of the Node's patch; null removes. */
  readonly patch: Pick<NodePatch, 'labels' | 'annotations'>
  /** Undefined where there is nothing to say. */
  readonly condition?: ConditionValue
  readonly events: readonly NodeEvent[]
  /** See `Decision.absentLabels`. */
  readonly absentLabels?: AbsentLabels
}

/** How many reads of all must have ended since a value was first missed: one may have been under way. */
const READS = 2

/** What a rule comes to. */
interface Outcome {
  /** What the label is to be; null removes it. Undefined where it stays as it is. */
  readonly write?: string | null
  /** What the record is to say of it; undefined where that stays as it is. */
  readonly record?: string
  readonly says: { readonly reason: (typeof PROBLEMS)[number] | 'Resolved'; readonly message: string }
  /** Whether the value is gone, and the label is removed once that is certain. */
  readonly goes?: true
}

/** In the order in which they give the condition its reason. */
const PROBLEMS = ['LabelNotOurs', 'LabelAmbiguous', 'LabelInvalid', 'LabelUnreadable'] as const

export function judgeRules(
  vm: Pick<VirtualMachine, 'vCenter' | 'attributes' | 'moving'>,
  ancestry: Ancestry,
  facts: Pick<NodeFacts, 'node' | 'previous' | 'settings' | 'fullReads' | 'absentLabels'>,
): RuledLabels {
  const { node, settings, previous } = facts
  const { labelRules: rules } = settings
  const wasTold = previous.conditions?.some(({ type }) => type === 'LabelsResolved') === true
  if (rules.length === 0) {
    const condition = wasTold
      ? { condition: yes('NotConfigured', 'the configuration has no label rules') }
      : {}
    return { patch: {}, events: [], ...condition }
  }
  const isNew = hasUninitializedTaint(node)
  // Folder and resource pool follow in a moment: one write for each move.
  if (vm.moving === true && !isNew) return { patch: {}, events: [], absentLabels: facts.absentLabels }
  const before = recordOf(node, isNew)
  const record = new Map(before)
  const labels: Record<string, string | null> = {}
  const absent = new Map<string, number>()
  const reads = facts.fullReads(vm.vCenter.name)
  const said: Outcome['says'][] = []
  for (const rule of rules) {
    const { label, when } = rule
    const present = presentOf(node, label)
    if (when === 'initialize' && !isNew) {
      said.push({ reason: 'Resolved', message: `${label} keeps ${present ?? 'no value'}` })
      continue
    }
    const seen = `${vm.vCenter.name} ${label}`
    const since = facts.absentLabels.get(seen) ?? reads
    const state = { label, present, isNew, recorded: before.get(label), isGone: reads - since >= READS }
    const outcome = judge(valueByRule(rule, vm, ancestry), state)
    if (outcome.write !== undefined) labels[label] = outcome.write
    if (outcome.record === '' && label.startsWith(OWN_PREFIX)) record.delete(label)
    else if (outcome.record !== undefined) record.set(label, outcome.record)
    if (outcome.goes) absent.set(seen, since)
    said.push(outcome.says)
  }
  return {
    patch: patchOf(node, labels, record, isNew),
    condition: conditionOf(said),
    events: isNew ? [] : changeEvents(node, labels),
    ...(absent.size > 0 ? { absentLabels: absent } : {}),
  }
}

/** Of a Node that registers, its kubelet may have written the record, but not a label under the prefix. */
function recordOf(node: Node, isNew: boolean): LabelRecord {
  const record = parseRecord(node.labelRecord)
  if (!isNew) return record
  return new Map(
    [...record].filter(([label, value]) => label.startsWith(OWN_PREFIX) && presentOf(node, label) === value),
  )
}

/** A label may be called "constructor". */
function presentOf({ labels }: Node, label: string): string | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined
}

interface LabelState {
  readonly label: string
  /** Its value on the Node. */
  readonly present: string | undefined
  /** Whether the Node is being initialized. */
  readonly isNew: boolean
  /** See {@link LabelRecord}. */
  readonly recorded: string | undefined
  /** Whether a value that is absent has been so for long enough. */
  readonly isGone: boolean
}

function judge(value: SourceValue, state: LabelState): Outcome {
  const { label, present, isNew, recorded } = state
  // The policy lets the controller write a label that is not under its prefix only where it is recorded before and after.
  const isReachable = label.startsWith(OWN_PREFIX) || recorded !== undefined || isNew
  const isOurs = present === undefined ? isReachable : present === recorded
  const claim = isNew && isOurs && !label.startsWith(OWN_PREFIX) ? { record: '' } : {}
  switch (value.state) {
    case 'known': {
      const says = { reason: 'Resolved', message: `${label} is ${value.value}` } as const
      if (present === value.value) return { says }
      if (isOurs) return { write: value.value, record: value.value, says }
      return { says: { reason: 'LabelNotOurs', message: notOurs(label, present, value.value) } }
    }
    case 'absent': {
      const says = { reason: 'Resolved', message: `${label} has no value in vCenter` } as const
      if (present === undefined || !isOurs) return { ...claim, says }
      if (state.isGone) return { write: null, record: '', says }
      return {
        goes: true,
        says: {
          ...says,
          message: `${label} stays ${present} until all was read again without a value for it`,
        },
      }
    }
    case 'ambiguous':
      return { ...claim, says: { reason: 'LabelAmbiguous', message: stays(state, value.message) } }
    case 'invalid':
      return { ...claim, says: { reason: 'LabelInvalid', message: stays(state, value.message) } }
    case 'unread':
      return { ...claim, says: { reason: 'LabelUnreadable', message: stays(state, value.message) } }
  }
}

function stays({ label, present }: LabelState, why: string): string {
  return `${label} ${present === undefined ? 'is not written' : `stays ${present}`}: ${why}`
}

function notOurs(label: string, present: string | undefined, wanted: string): string {
  return present === undefined
    ? `${label} would be ${wanted}, but only Nodes that are initialized with the rule get a label that is not under ${OWN_PREFIX}: use one, or let the Node register again`
    : `${label} is ${present}, which Rollcall did not write, and vCenter says ${wanted}: remove the label from the Node, or the rule`
}

function patchOf(
  node: Node,
  labels: Readonly<Record<string, string | null>>,
  record: LabelRecord,
  isNew: boolean,
): RuledLabels['patch'] {
  const changes = Object.keys(labels).length > 0
  const text = formatRecord(record)
  const isRecorded = !(changes || isNew) || text === node.labelRecord
  return {
    ...(changes ? { labels } : {}),
    ...(isRecorded ? {} : { annotations: { [ANNOTATION_LABELS]: text ?? null } }),
  }
}

function conditionOf(said: readonly Outcome['says'][]): ConditionValue {
  const messages = (reason: Outcome['says']['reason']) =>
    said.flatMap((each) => (each.reason === reason ? [each.message] : []))
  const problems = PROBLEMS.flatMap((reason) => messages(reason))
  const reason = PROBLEMS.find((each) => messages(each).length > 0)
  if (reason === undefined) return yes('Resolved', messages('Resolved').join(', '))
  return (reason === 'LabelUnreadable' ? unknown : no)(reason, problems.join('; '))
}

function changeEvents(node: Node, labels: Readonly<Record<string, string | null>>): readonly NodeEvent[] {
  const changes = Object.entries(labels).map(([label, value]) => {
    const from = node.labels[label]
    if (value === null) return `${label} was ${from} and is removed`
    return from === undefined ? `${label} is ${value}` : `${label} from ${from} to ${value}`
  })
  if (changes.length === 0) return []
  const message = `labels follow vCenter by rule: ${changes.join(', ')}`
  return [{ type: 'Normal', reason: 'Relabeled', message: printable(message, MAX_MESSAGE) }]
}
