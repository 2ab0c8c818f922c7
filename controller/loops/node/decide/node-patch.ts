import type { IdentityLevel, NodeAddress } from '../../../../agent/shared/node-report.ts'
import type { Node, NodePatch } from '../../../types/node.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { BETA_LABELS, LABEL_IDENTITY_LEVEL } from '../../../types/well-known.ts'
import { hasUninitializedTaint } from '../facts/needs-initialization.ts'
import { providerID } from '../facts/provider-id.ts'
import type { RuledLabels } from './labels/judge-rules.ts'
import type { NodeEvent } from './node-events.ts'
import type { Labels } from './topology/moved-labels.ts'

/** The differences between a Node and what it should be, if there are any, and the Events that tell of them. */
export function patchFor(
  node: Node,
  wanted: {
    readonly vm: VirtualMachine
    readonly level: IdentityLevel
    readonly metadata: Pick<Labels, 'labels'> & {
      readonly addresses: readonly NodeAddress[] | undefined
      readonly ruled?: Pick<RuledLabels, 'patch'> | undefined
    }
    /** Whether a running Node's labels follow what changes in vCenter. */
    readonly relabels: boolean
    /** Labels that have nothing to do with vCenter, for a Node that is initialized. */
    readonly more: Readonly<Record<string, string>>
  },
): { readonly patch?: Omit<NodePatch, 'taints'>; readonly events: readonly NodeEvent[] } {
  const initializing = hasUninitializedTaint(node)
  const { labels: ruled, ...others } = wanted.metadata.ruled?.patch ?? {}
  const labels = {
    ...(initializing ? absentLabels(node, wanted.more) : {}),
    ...missingLabels(node, wanted.metadata.labels, initializing || wanted.relabels),
    ...levelLabel(node, wanted.level),
    ...ruled,
  }
  const patch: Omit<NodePatch, 'taints'> = {
    ...others,
    ...changedAddresses(node, wanted.metadata.addresses),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(node.providerID === undefined && wanted.vm.biosUUID !== undefined
      ? { providerID: providerID(wanted.vm.biosUUID) }
      : {}),
  }
  return {
    ...(Object.keys(patch).length > 0 ? { patch } : {}),
    events: initializing ? overriddenLabels(node, Object.keys(labels)) : [],
  }
}

/** The label that shows the level, if it must change; without a level it is removed. */
export function levelLabel(
  node: Pick<Node, 'labels'>,
  level: IdentityLevel | undefined,
): Record<string, string | null> {
  const wanted = level ?? null
  return (node.labels[LABEL_IDENTITY_LEVEL] ?? null) === wanted ? {} : { [LABEL_IDENTITY_LEVEL]: wanted }
}

/** Events for labels that the kubelet set before the initialization and that differ from vCenter. */
function overriddenLabels(node: Node, written: readonly string[]): readonly NodeEvent[] {
  const labels = written.filter((label) => label !== LABEL_IDENTITY_LEVEL && node.labels[label] !== undefined)
  if (labels.length === 0) return []
  const message = `${labels.join(', ')} had other values than vCenter has; take them out of the kubelet's --node-labels`
  return [{ type: 'Warning', reason: 'LabelOverridden', message }]
}

/**
 * Labels are corrected during initialization and where the configuration says `relabel`. Otherwise only absent ones are
 * added (kubernetes/cloud-provider-vsphere#435), because changing the zone of a running Node strands its volumes. A label
 * and its beta name always get the same value.
 */
function missingLabels(node: Node, labels: Labels['labels'], follow: boolean): Record<string, string> {
  const missing: Record<string, string> = {}
  for (const [label, value] of labels) {
    if (value === undefined) continue
    const names = [label, BETA_LABELS[label]].filter((name) => name !== undefined)
    const contradicted = names.some((name) => node.labels[name] !== undefined && node.labels[name] !== value)
    if (contradicted && !follow) continue
    for (const name of names) if (node.labels[name] !== value) missing[name] = value
  }
  return missing
}

/** As in the CPI: a label that is there already keeps its value. */
function absentLabels(node: Node, labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([label]) => node.labels[label] === undefined))
}

/**
 * The addresses, if they must change. As with the CPI, they are never rewritten for their order alone: another provider or
 * the kubelet wrote them in its own, and which family comes first must not change under running Pods.
 */
export function changedAddresses(
  node: Node,
  addresses: readonly NodeAddress[] | undefined,
): Pick<NodePatch, 'addresses'> {
  if (addresses === undefined) return {}
  const texts = (list: Node['addresses']) =>
    list
      .map(({ type, address }) => `${type} ${address}`)
      .sort()
      .join()
  return texts(node.addresses) === texts(addresses) ? {} : { addresses }
}
