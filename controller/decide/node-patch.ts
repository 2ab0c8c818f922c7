import type { IdentityLevel, NodeAddress } from '../../agent/contract.ts'
import type { Node, Taint } from '../types/node.ts'
import type { VirtualMachine } from '../types/virtual-machine.ts'
import type { NodeEvent } from './events.ts'
import { providerID } from './provider-id.ts'
import { instanceType } from './topology/instance-type.ts'
import type { NodeTopology } from './topology/topology.ts'
import { hasUninitializedTaint } from './uninitialized.ts'
import {
  BETA_LABELS,
  LABEL_IDENTITY_LEVEL,
  LABEL_INSTANCE_TYPE,
  LABEL_REGION,
  LABEL_ZONE,
  TAINT_UNINITIALIZED,
} from './well-known.ts'

/** What has to change on a Node; a part that is absent stays as it is. */
export interface NodePatch {
  /** For the status subresource; written first, so that no Node is untainted without an address. */
  readonly addresses?: readonly NodeAddress[]
  /** Null takes a label away. */
  readonly labels?: Readonly<Record<string, string | null>>
  readonly providerID?: string
  /** Null takes an annotation away. */
  readonly annotations?: Readonly<Record<string, null>>
  /** The whole list that is to stand. */
  readonly taints?: readonly Taint[]
}

export interface Wanted {
  readonly vm: VirtualMachine
  readonly level: IdentityLevel
  readonly topology: NodeTopology
  readonly addresses: readonly NodeAddress[] | undefined
  /** Whether a running Node's labels follow what changes in vCenter. */
  readonly relabels: boolean
}

/** The differences between a Node and what it should be; undefined where there are none. */
export function patchFor(node: Node, wanted: Wanted): NodePatch | undefined {
  const initializing = hasUninitializedTaint(node)
  const labels = {
    ...missingLabels(node, wantedLabels(wanted), initializing || wanted.relabels),
    ...levelLabel(node, wanted.level),
  }
  const patch: NodePatch = {
    ...(wanted.addresses !== undefined && !sameAddresses(node.addresses, wanted.addresses)
      ? { addresses: wanted.addresses }
      : {}),
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(node.providerID === undefined && wanted.vm.biosUUID !== undefined
      ? { providerID: providerID(wanted.vm.biosUUID) }
      : {}),
    ...(initializing ? { taints: node.taints.filter(({ key }) => key !== TAINT_UNINITIALIZED) } : {}),
  }
  return Object.keys(patch).length > 0 ? patch : undefined
}

/** The label that shows the level, where it has to change; without a level it has to go. */
export function levelLabel(
  node: Pick<Node, 'labels'>,
  level: IdentityLevel | undefined,
): Record<string, string | null> {
  const wanted = level ?? null
  return (node.labels[LABEL_IDENTITY_LEVEL] ?? null) === wanted ? {} : { [LABEL_IDENTITY_LEVEL]: wanted }
}

/** By the standard names, what vCenter says; undefined where it says nothing. */
export function wantedLabels({
  vm,
  topology,
}: Pick<Wanted, 'vm' | 'topology'>): [string, string | undefined][] {
  return [
    [LABEL_ZONE, topology.zone],
    [LABEL_REGION, topology.region],
    [LABEL_INSTANCE_TYPE, instanceType(vm)],
  ]
}

/** Tells of labels that the kubelet gave a Node before it was initialised, and that say otherwise than vCenter. */
export function overriddenLabelEvents(node: Node, patch: NodePatch | undefined): readonly NodeEvent[] {
  if (!hasUninitializedTaint(node)) return []
  const labels = Object.keys(patch?.labels ?? {}).filter(
    (label) => label !== LABEL_IDENTITY_LEVEL && node.labels[label] !== undefined,
  )
  if (labels.length === 0) return []
  const message = `${labels.join(', ')} had other values than vCenter has; take them out of the kubelet's --node-labels`
  return [{ type: 'Warning', reason: 'LabelOverridden', message }]
}

/**
 * While a Node is being initialised its labels are put right, and on one whose labels are to follow; else only absent
 * ones are filled in (kubernetes/cloud-provider-vsphere#435), because changing a zone under running volumes strands
 * them. A label and its beta name are one: they never come to say different things.
 */
function missingLabels(
  node: Node,
  labels: readonly [string, string | undefined][],
  follow: boolean,
): Record<string, string> {
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

function sameAddresses(a: Node['addresses'], b: readonly NodeAddress[]): boolean {
  return (
    a.length === b.length &&
    a.every((entry, index) => entry.type === b[index]?.type && entry.address === b[index]?.address)
  )
}
