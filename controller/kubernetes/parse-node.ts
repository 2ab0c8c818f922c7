import * as v from 'valibot'
import {
  ANNOTATION_REPORTED_AT,
  CONDITION_TYPES,
  MAX_FORMER_VMS,
  MAX_GROUP,
  MAX_PARENTS,
  MAX_UNMET,
  type NodeReportStatus,
  parseSpec,
} from '../../agent/shared/node-report.ts'
import { printable } from '../../agent/shared/printable.ts'
import { compact } from '../lib/memory.ts'
import { ANNOTATION_LABELS, MAX_RECORD } from '../types/labels.ts'
import { ANNOTATION_DELETION, ANNOTATION_VM, type Node, type NodeReport } from '../types/node.ts'
import { CSI_DRIVER, PROVIDED_NODE_IP } from '../types/well-known.ts'

/** A Node has at most five; with more it differs from what it should have, whatever the rest are. */
const MAX_ADDRESSES = 100
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
  const record = metadata.annotations[ANNOTATION_LABELS]
  const ready = status.conditions.find(({ type }) => type === 'Ready')
  return compact({
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
    labelRecord: record === undefined || record.length > MAX_RECORD ? undefined : record,
    hasAnnotations: Object.keys(metadata.annotations).length > 0,
  })
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
function shortText(text: string): string {
  return text.length <= MAX_LENGTH ? text : copyOf(text.slice(0, MAX_LENGTH))
}

function copyOf(text: string): string {
  return Buffer.from(text).toString()
}

const NodeReportObject = v.object({
  metadata: v.object({
    name: v.pipe(v.string(), v.minLength(1)),
    uid: v.string(),
    resourceVersion: v.string(),
    generation: v.optional(v.number(), 0),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  spec: v.optional(v.unknown()),
  status: v.optional(v.unknown()),
})

const text = v.exactOptional(v.string())

const BoundVM = v.object({
  vCenter: v.string(),
  vCenterInstanceUUID: v.string(),
  moref: v.string(),
  name: v.string(),
  instanceUUID: v.string(),
  biosUUID: v.string(),
  group: v.exactOptional(v.pipe(v.array(v.string()), v.maxLength(MAX_GROUP))),
  host: text,
  cluster: text,
  datacenter: text,
  parents: v.exactOptional(
    v.pipe(
      v.array(v.object({ type: v.string(), moref: v.string(), name: v.string() })),
      v.maxLength(MAX_PARENTS),
    ),
  ),
})

const ReportCondition = v.object({
  type: v.picklist(CONDITION_TYPES),
  status: v.picklist(['True', 'False', 'Unknown']),
  reason: v.string(),
  message: v.string(),
  lastTransitionTime: v.string(),
  observedGeneration: v.exactOptional(v.number()),
})

const Address = v.object({ type: v.picklist(['Hostname', 'InternalIP', 'ExternalIP']), address: v.string() })

/** Each field is parsed separately, so that a value of another version in one does not lose the binding in another. */
const fields = {
  observedGeneration: v.number(),
  nodeUID: v.string(),
  vm: BoundVM,
  namedVM: BoundVM,
  formerVMs: v.pipe(v.array(BoundVM), v.maxLength(MAX_FORMER_VMS)),
  lastClaim: v.string(),
  obeyedAnnotation: v.string(),
  identityLevel: v.picklist(['asserted', 'reported', 'proven']),
  provenUntil: v.pipe(v.string(), v.isoTimestamp()),
  absentSince: v.pipe(v.string(), v.isoTimestamp()),
  brakeEngagedAt: v.pipe(v.string(), v.isoTimestamp()),
  brakeEngagedFor: text,
  deletionUnmet: v.pipe(v.array(v.string()), v.maxLength(MAX_UNMET)),
  topology: v.object({ zone: text, region: text }),
  instanceType: v.string(),
  addresses: v.array(Address),
}

/**
 * Parses a NodeReport; undefined for anything else. An invalid spec is reported as such. The status is this controller's
 * own: a field that cannot be read counts as absent and will be written again.
 */
export function parseNodeReport(object: unknown): NodeReport | undefined {
  const parsed = v.safeParse(NodeReportObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec, status } = parsed.output
  const { annotations, ...named } = metadata
  const reportedAt = annotations[ANNOTATION_REPORTED_AT]
  return compact({
    ...named,
    reportedAt: reportedAt === undefined ? undefined : shortText(reportedAt),
    spec: parseSpec(spec),
    status: parseStatus(status),
  })
}

function parseStatus(value: unknown): NodeReportStatus {
  const given = v.safeParse(v.record(v.string(), v.unknown()), value)
  if (!given.success) return {}
  const readable = Object.entries(fields).flatMap(([name, schema]) => {
    // Most Nodes have few of them, and what is absent would be a problem with a text to drop.
    if (given.output[name] === undefined) return []
    const field = v.safeParse(schema, given.output[name])
    return field.success ? [[name, field.output] as const] : []
  })
  const list = v.safeParse(v.array(v.unknown()), given.output.conditions)
  const conditions = list.success ? list.output.filter((item) => v.is(ReportCondition, item)) : []
  return { ...Object.fromEntries(readable), ...(list.success ? { conditions } : {}) }
}
