/** The objects of the model's API server, as JSON would have them, and the bodies of the writes that it takes. */
import * as v from 'valibot'
import { NodeReportSpec } from '../../../agent/shared/node-report.ts'

export interface Metadata {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly annotations: Readonly<Record<string, string>>
}

export interface TaintObject {
  readonly key: string
  readonly effect: string
  readonly value?: string | undefined
  readonly timeAdded?: string | undefined
}

export interface StoredNode {
  readonly metadata: Metadata & {
    readonly creationTimestamp: string
    readonly labels: Readonly<Record<string, string>>
    /** Set when it was deleted while it had finalizers. */
    readonly deletionTimestamp?: string | undefined
    readonly finalizers?: readonly string[]
  }
  readonly spec: { readonly providerID?: string | undefined; readonly taints: readonly TaintObject[] }
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[]
    readonly conditions: readonly {
      readonly type: string
      readonly status: string
      readonly lastHeartbeatTime: string
      readonly lastTransitionTime: string
    }[]
    readonly nodeInfo: { readonly systemUUID: string }
  }
}

export interface StoredReport {
  readonly metadata: Metadata & {
    readonly creationTimestamp: string
    readonly generation: number
    readonly ownerUID: string
  }
  readonly spec: NodeReportSpec
  readonly status: StoredStatus
}

/** A certificate signing request, of kubelet serving certificates alone: there are no others in this world. */
export interface StoredRequest {
  readonly metadata: Metadata & { readonly creationTimestamp: string }
  readonly spec: {
    readonly signerName: string
    readonly request: string
    readonly username: string
    readonly groups: readonly string[]
    readonly extra: Readonly<Record<string, readonly string[]>>
    readonly usages: readonly string[]
  }
  readonly status: {
    readonly conditions: readonly v.InferOutput<typeof Decision>[]
    readonly certificate?: string
  }
}

const Condition = v.looseObject({
  type: v.string(),
  status: v.string(),
  reason: v.string(),
  message: v.string(),
})

const Bound = v.looseObject({
  vCenter: v.string(),
  vCenterInstanceUUID: v.string(),
  moref: v.string(),
  instanceUUID: v.string(),
  biosUUID: v.string(),
})

const Address = v.object({ type: v.string(), address: v.string() })

const Status = v.looseObject({
  nodeUID: v.optional(v.string()),
  identityLevel: v.optional(v.string()),
  brakeEngagedAt: v.optional(v.string()),
  absentSince: v.optional(v.string()),
  vm: v.optional(Bound),
  namedVM: v.optional(Bound),
  formerVMs: v.optional(v.array(Bound)),
  addresses: v.optional(v.array(Address)),
  conditions: v.optional(v.array(Condition), []),
})
export type StoredStatus = v.InferOutput<typeof Status>

const Decision = v.object({
  type: v.picklist(['Approved', 'Denied']),
  status: v.literal('True'),
  reason: v.string(),
  message: v.string(),
})

const Guard = { uid: v.optional(v.string()), resourceVersion: v.optional(v.string()) }

/** Below a Node's metadata and spec: all that the controller writes there. */
export const NodePatch = v.array(
  v.object({
    op: v.picklist(['add', 'remove', 'replace']),
    path: v.pipe(v.string(), v.regex(/^\/(metadata|spec)\//)),
    value: v.optional(v.unknown()),
  }),
)

/** What a patch has made of a Node. */
export const PatchedNode = v.object({
  metadata: v.looseObject({
    ...Guard,
    labels: v.record(v.string(), v.string()),
    annotations: v.record(v.string(), v.string()),
  }),
  spec: v.object({
    providerID: v.optional(v.string()),
    taints: v.array(
      v.object({
        key: v.string(),
        effect: v.string(),
        value: v.exactOptional(v.string()),
        timeAdded: v.exactOptional(v.string()),
      }),
    ),
  }),
})

export const NodeStatusPatch = v.object({
  metadata: v.object(Guard),
  status: v.object({ addresses: v.array(Address) }),
})

export const ApprovalPatch = v.object({
  metadata: v.object(Guard),
  status: v.object({ conditions: v.tuple([Decision]) }),
})

export const DeleteOptions = v.object({ preconditions: v.optional(v.object(Guard), {}) })

export const NewReport = v.object({
  metadata: v.object({ name: v.string(), ownerReferences: v.tuple([v.object({ uid: v.string() })]) }),
  spec: NodeReportSpec,
})

export const StatusPatch = v.tuple([
  v.object({ path: v.literal('/metadata/resourceVersion'), value: v.optional(v.string()) }),
  v.object({ path: v.literal('/status'), value: Status }),
])

export const LeaseBody = v.looseObject({
  metadata: v.looseObject({ resourceVersion: v.optional(v.string()) }),
  spec: v.looseObject({ holderIdentity: v.string(), leaseTransitions: v.number() }),
})

/** Whether it was deleted, and finalizers keep it. */
export function isDeparting({ metadata }: StoredNode): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** What a deletion makes of a Node: nothing, or one that waits for its finalizers. */
export function deletedAt(node: StoredNode, time: string): StoredNode | undefined {
  const { finalizers = [], deletionTimestamp = time } = node.metadata
  return finalizers.length === 0 ? undefined : { ...node, metadata: { ...node.metadata, deletionTimestamp } }
}

export function readyOf({ status }: StoredNode): string | undefined {
  return status.conditions.find(({ type }) => type === 'Ready')?.status
}
