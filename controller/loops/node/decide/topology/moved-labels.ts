/**
 * The labels of zone, region and instance type: which of them follow vCenter, and what is told where they do not.
 *
 * The vSphere CSI driver may say another zone or region than vCenter's tags. What it reports when it registers becomes labels
 * of the Node, under names of its own or under those of Kubernetes, and a kubelet does not register a driver that reports
 * another value than a label has (`updateTopologyLabels` in its nodeinfomanager.go). test/csi tries it.
 */
import { printable } from '../../../../../agent/shared/printable.ts'
import type { DecisionConfig, TopologyConfig } from '../../../../config/config.ts'
import { type ConditionValue, MAX_MESSAGE, no } from '../../../../types/condition-value.ts'
import type { Node } from '../../../../types/node.ts'
import {
  BETA_LABELS,
  csiTopologyLabel,
  LABEL_INSTANCE_TYPE,
  LABEL_REGION,
  LABEL_ZONE,
  TOPOLOGY_LABELS,
} from '../../../../types/well-known.ts'
import { needsInitialization } from '../../facts/needs-initialization.ts'
import type { NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { NodeTopology } from './zone-from-tags.ts'

export interface Labels {
  /**
   * By their standard names with vCenter's values; undefined where vCenter says nothing. Those that stay for the CSI
   * driver's sake are not among them.
   */
  readonly labels: readonly (readonly [string, string | undefined])[]
  /** What is to be told of zone and region, and of an instance type that has changed. */
  readonly condition: ConditionValue
  readonly events: readonly NodeEvent[]
}

/** @param writes whether this controller writes labels, and not another provider */
export function judgeLabels(
  {
    topology,
    instanceType,
    writes,
  }: {
    readonly topology: NodeTopology
    readonly instanceType: string
    readonly writes: boolean
  },
  facts: Pick<NodeFacts, 'node' | 'previous' | 'settings' | 'csiTopologyKeys'>,
): Labels {
  const { node, settings } = facts
  const places = [
    ...(settings.labels.zone === undefined ? [] : [[LABEL_ZONE, topology.zone] as const]),
    ...(settings.labels.region === undefined ? [] : [[LABEL_REGION, topology.region] as const]),
  ]
  const isNew = needsInitialization(node)
  const follows = writes && (isNew || settings.topology.onChange === 'relabel')
  const kept = keptForCSI(facts, writes && !topology.awaitsTags ? places : [], follows)
  const labels = [
    ...places.filter(([label]) => !kept.has(label)),
    [LABEL_INSTANCE_TYPE, instanceType] as const,
  ]
  const changes = isNew ? [] : labelChanges(node, labels)
  const { condition, events } = judgeChanges(changes, settings.topology, topology.condition, writes)
  const written = follows ? Object.fromEntries(labels) : {}
  return {
    labels,
    condition: tellKept(kept, compareWithCSI(node, written, settings.labels, condition)),
    events,
  }
}

/** A label of a running Node that differs from what vCenter says now. */
interface LabelChange {
  /** Its standard name, or the beta name where only that differs. */
  readonly label: string
  readonly from: string
  readonly to: string
  /** The standard name, where the Node lacks that label: it is not given another value than its beta name has. */
  readonly lacks?: string
}

/** @param wanted labels with vCenter's values; undefined where it says nothing */
function labelChanges(
  { labels }: Pick<Node, 'labels'>,
  wanted: readonly (readonly [string, string | undefined])[],
): readonly LabelChange[] {
  return wanted.flatMap(([standard, to]) => {
    for (const label of [standard, BETA_LABELS[standard] ?? standard]) {
      const from = labels[label]
      if (from === undefined || to === undefined || from === to) continue
      return { label, from, to, ...(labels[standard] === undefined ? { lacks: standard } : {}) }
    }
    return []
  })
}

/**
 * The condition for a VM that moved to another zone or region, or was resized, while its Node runs. Changing the zone of a
 * running Node strands its volumes (kubernetes/kubernetes#64021), so by default this is only reported.
 *
 * A label that is lacking, and is not written because of its beta name, is not what `ignore` is for: that is told as well.
 *
 * @param resolved the condition about the tags themselves: where it is not True it keeps its reason, and the changes follow
 */
function judgeChanges(
  changes: readonly LabelChange[],
  { onChange }: TopologyConfig,
  resolved: ConditionValue,
  writes: boolean,
): { readonly condition: ConditionValue; readonly events: readonly NodeEvent[] } {
  if (changes.length > 0 && onChange === 'relabel' && writes) {
    const how = changes.map(({ label, from, to }) => `${label} from ${from} to ${to}`).join(', ')
    const message = `the VM or a tag moved or was changed, so the labels were changed: ${how}`
    return {
      condition: resolved,
      events: [{ type: 'Normal', reason: 'Relabeled', message: printable(message, MAX_MESSAGE) }],
    }
  }
  const told = onChange === 'ignore' ? changes.filter(({ lacks }) => lacks !== undefined) : changes
  return { condition: told.length === 0 ? resolved : tellChanges(told, resolved, writes), events: [] }
}

function tellChanges(
  changes: readonly LabelChange[],
  resolved: ConditionValue,
  writes: boolean,
): ConditionValue {
  const what = changes
    .map(({ label, from, to, lacks }) => {
      const unwritten = lacks === undefined ? '' : `, so label ${lacks} is not written`
      return `label ${label} is ${from}, and vCenter says ${to}${unwritten}`
    })
    .join('; ')
  const values = changes.some(({ lacks }) => lacks !== undefined) ? 'relabel' : 'relabel or ignore'
  const setting = writes
    ? `or set topology.onChange to ${values}`
    : 'or end the other provider that writes labels and set topology.onChange to relabel'
  const message = `${what}: the VM or a tag moved or changed, but pods and volumes may depend on the old value; undo that, or drain and delete the Node so that it registers again, ${setting}`
  if (resolved.status === 'True') return no('TopologyChanged', message)
  // A long list of what is not readable must not push the labels out.
  const room = Math.max(MAX_MESSAGE - message.length - 2, MAX_MESSAGE / 2)
  const both = `${printable(resolved.message, room)}; ${message}`
  return { ...resolved, message: printable(both, MAX_MESSAGE) }
}

/** What ends it: the driver's pod says what its CSINodeTopology says. */
const REMEDY =
  "keep one tag of each category on the VM and all above it, drain the Node, delete its CSINodeTopology and those labels of the driver, then restart the driver's pod on it"

/**
 * The condition about zone and region where the labels that the CSI driver's registration has left on the Node differ from
 * those of Kubernetes. A volume's zone is the driver's, a pod's is the label's, so they would miss each other.
 *
 * @param wanted the labels of Kubernetes that this decision writes; the others stay as they are
 * @param resolved what else is to be told about zone and region, which comes first where it is not True
 */
export function compareWithCSI(
  { labels }: Pick<Node, 'labels'>,
  wanted: Readonly<Record<string, string | undefined>>,
  categories: DecisionConfig['labels'],
  resolved: ConditionValue,
): ConditionValue {
  if (resolved.status !== 'True') return resolved
  const different = (['zone', 'region'] as const).flatMap((kind) => {
    const name = kind === 'zone' ? LABEL_ZONE : LABEL_REGION
    const category = categories[kind]
    if (category === undefined) return []
    const [label, csiLabel] = [wanted[name] ?? labels[name], csiTopologyLabel(category)]
    const theirs = labels[csiLabel]
    if (label === undefined || theirs === undefined || label === theirs) return []
    return [`label ${csiLabel} is ${theirs}, and ${name} is ${label}`]
  })
  if (different.length === 0) return resolved
  return no(
    'CSITopologyDiffers',
    `${different.join('; ')}: volumes follow the CSI driver, pods the labels of Kubernetes; ${REMEDY}`,
  )
}

const WHY = 'a kubelet refuses a registration that differs from a label'
const KEPT_REMEDY =
  "move the VM or the tag back; or drain the Node, delete its CSINodeTopology and those labels, then restart the driver's pod on it"

/**
 * What is to be said of zone and region, by their labels, where they stay although vCenter says something else: with the
 * label changed, the kubelet would refuse the driver's next registration. A label and its beta name stay together, whichever
 * of them is the driver's, since the two must not differ.
 *
 * While the driver is not registered, as when its pod is restarted or after a refusal, and where its CSINode cannot be read,
 * its keys are not known. What was kept stays kept then, and so does what its present registration may rest on. It stays
 * kept as well while vCenter tells no value, or it would be forgotten by the time that there is one again.
 *
 * @param wanted zone and region, as far as they are configured, with vCenter's values; undefined where it tells none
 * @param follows whether the labels are to have those; otherwise they stay in any case, and this is what ends it
 */
function keptForCSI(
  {
    node,
    previous,
    settings,
    csiTopologyKeys,
  }: Pick<NodeFacts, 'node' | 'previous' | 'settings' | 'csiTopologyKeys'>,
  wanted: readonly (readonly [label: string, value: string | undefined])[],
  follows: boolean,
): ReadonlyMap<string, string> {
  const kept = new Map<string, string>()
  const told = wasTold(previous)
  if (!follows && !told && settings.topology.onChange === 'ignore') return kept
  const keys = csiTopologyKeys ?? (told || (follows && node.hasCSIDriver) ? TOPOLOGY_LABELS : [])
  for (const [label, value] of wanted) {
    const names = [label, BETA_LABELS[label] ?? label]
    const differing = names.filter((name) => node.labels[name] !== undefined && node.labels[name] !== value)
    const theirs = differing.filter((name) => keys.includes(name))
    if (theirs.length === 0 || (value === undefined && !told)) continue
    const stay = differing.map((name) => `label ${name} remains ${node.labels[name]}`).join(', ')
    const said = value === undefined ? 'currently reports no value' : `reports ${value}`
    const whose =
      csiTopologyKeys === undefined
        ? `the vSphere CSI driver may have registered with ${theirs.join(', ')} (no CSINode currently says so)`
        : `the vSphere CSI driver registered with ${theirs.join(', ')}`
    kept.set(label, `${stay} although vCenter ${said}, because ${whose}`)
  }
  return kept
}

function wasTold({ conditions = [] }: NodeFacts['previous']): boolean {
  return conditions.some(({ type, reason }) => type === 'TopologyResolved' && reason === 'LabelsKeptForCSI')
}

/** The condition about zone and region where any of them is kept. */
function tellKept(kept: ReadonlyMap<string, string>, resolved: ConditionValue): ConditionValue {
  if (kept.size === 0) return resolved
  const other = resolved.status === 'True' ? '' : `; ${resolved.message}`
  return no('LabelsKeptForCSI', `${[...kept.values()].join('; ')}; ${WHY}: ${KEPT_REMEDY}${other}`)
}
