import * as v from 'valibot'
import { printable } from '../../agent/shared/printable.ts'
import { ANNOTATION_DELETION, ANNOTATION_VM, type Node } from '../types/node.ts'
import { CSI_DRIVER } from '../types/well-known.ts'

/** A Node has at most five; with more it differs from what it should have, whatever the rest are. */
const MAX_ADDRESSES = 100
const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip'
/** The IDs that the registered CSI drivers have given the Node, as a JSON object with their names as keys. */
const CSI_NODE_IDS = 'csi.volume.kubernetes.io/nodeid'

/** The API server omits empty lists and maps or writes them as null. */
const strings = v.nullish(v.record(v.string(), v.string()), {})

const Taint = v.object({
  key: v.string(),
  effect: v.string(),
  value: v.exactOptional(v.string()),
  timeAdded: v.exactOptional(v.string()),
})

const Condition = v.object({
  type: v.string(),
  status: v.string(),
  lastHeartbeatTime: v.nullish(v.string(), ''),
  lastTransitionTime: v.nullish(v.string(), ''),
})

const NodeObject = v.object({
  metadata: v.object({
    name: v.pipe(v.string(), v.minLength(1)),
    uid: v.string(),
    resourceVersion: v.string(),
    creationTimestamp: v.string(),
    deletionTimestamp: v.nullish(v.string()),
    finalizers: v.nullish(v.array(v.string()), []),
    labels: strings,
    annotations: strings,
  }),
  spec: v.nullish(
    v.object({ providerID: v.optional(v.string(), ''), taints: v.nullish(v.array(Taint), []) }),
    {},
  ),
  status: v.nullish(
    v.object({
      addresses: v.nullish(v.array(v.object({ type: v.string(), address: v.string() })), []),
      conditions: v.nullish(v.array(Condition), []),
      nodeInfo: v.nullish(v.object({ systemUUID: v.optional(v.string(), '') }), {}),
    }),
    {},
  ),
})

/**
 * Parses the few fields of a `v1` Node that the controller keeps; undefined for anything else.
 *
 * @param labels those that are kept; by default all
 */
export function parseNode(object: unknown, labels?: ReadonlySet<string>): Node | undefined {
  const parsed = v.safeParse(NodeObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.output
  const deletion = metadata.annotations[ANNOTATION_DELETION]
  const vm = metadata.annotations[ANNOTATION_VM]
  const ready = status.conditions.find(({ type }) => type === 'Ready')
  return {
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    creationTimestamp: metadata.creationTimestamp,
    ...deletionOf(metadata),
    labels: labels === undefined ? metadata.labels : only(labels, metadata.labels),
    labelCount: Object.keys(metadata.labels).length,
    providedNodeIP: metadata.annotations[PROVIDED_NODE_IP],
    hasCSIDriver: metadata.annotations[CSI_NODE_IDS]?.includes(`"${CSI_DRIVER}":`) === true,
    taints: spec.taints,
    providerID: spec.providerID || undefined,
    addresses: status.addresses.slice(0, MAX_ADDRESSES),
    systemUUID: status.nodeInfo.systemUUID,
    ready: ready && {
      status: shortText(ready.status),
      lastHeartbeatTime: shortText(ready.lastHeartbeatTime),
      lastTransitionTime: shortText(ready.lastTransitionTime),
    },
    deletionAnnotation: deletion === undefined ? undefined : shortText(deletion),
    vmAnnotation: vm === undefined ? undefined : shortText(vm),
  }
}

function only(names: ReadonlySet<string>, labels: Node['labels']): Node['labels'] {
  return Object.fromEntries(Object.entries(labels).filter(([name]) => names.has(name)))
}

/** Finalizers that are kept: more are seldom, and a kubelet may set any number of its own Node. */
const MAX_FINALIZERS = 5
/** Characters; a qualified name may be longer, but is not. */
const MAX_FINALIZER = 80

function deletionOf({
  deletionTimestamp,
  finalizers,
}: v.InferOutput<typeof NodeObject>['metadata']): Pick<Node, 'deleting' | 'deletingSince' | 'finalizers'> {
  if (typeof deletionTimestamp !== 'string')
    return { deleting: false, deletingSince: undefined, finalizers: [] }
  const names = finalizers.slice(0, MAX_FINALIZERS).map((name) => copyOf(printable(name, MAX_FINALIZER)))
  return { deleting: true, deletingSince: shortText(deletionTimestamp), finalizers: names }
}

/** Longer than any expected word or time. */
const MAX_LENGTH = 40

/**
 * The first characters of a text, which a node may make as long as it likes. It is a copy, because a slice would keep the
 * whole text in memory.
 */
export function shortText(text: string): string {
  return text.length <= MAX_LENGTH ? text : copyOf(text.slice(0, MAX_LENGTH))
}

function copyOf(text: string): string {
  return Buffer.from(text).toString()
}
