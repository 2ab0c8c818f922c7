/** The few fields of a Node and a NodeReport that the controller keeps. Filled by `kubernetes/`, read by `decide/`. */
import type { NodeAddress, NodeReportStatus, parseSpec } from '../../agent/shared/node-report.ts'

/** A person's word on a Node's deletion: `hold` keeps the Node, `proceed` deletes it although the brake is engaged. */
export const ANNOTATION_DELETION = 'rollcall.dev/deletion'

/** A person's word on which VM a Node is: its instance UUID. A policy keeps kubelets and the controller from writing it. */
export const ANNOTATION_VM = 'rollcall.dev/vm'

export interface Taint {
  readonly key: string
  readonly effect: string
  readonly value?: string
  readonly timeAdded?: string
}

export interface Node {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  /** RFC 3339. */
  readonly creationTimestamp: string
  readonly deleting: boolean
  /** Since when, RFC 3339; undefined where it is not being deleted. */
  readonly deletingSince: string | undefined
  /** What its deletion waits for: names, of which some may be left out. Empty where it is not being deleted. */
  readonly finalizers: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  /** How many labels it has in the API server. */
  readonly labelCount: number
  /** `alpha.kubernetes.io/provided-node-ip`: the kubelet's `--node-ip`, one or two addresses with a comma. */
  readonly providedNodeIP: string | undefined
  /** Whether its kubelet has the vSphere CSI driver registered at this moment. */
  readonly hasCSIDriver: boolean
  readonly taints: readonly Taint[]
  readonly providerID: string | undefined
  readonly addresses: readonly { readonly type: string; readonly address: string }[]
  readonly systemUUID: string
  /** The Ready condition; undefined where there is none. */
  readonly ready:
    | { readonly status: string; readonly lastHeartbeatTime: string; readonly lastTransitionTime?: string }
    | undefined
  readonly deletionAnnotation: string | undefined
  /** Value of {@link ANNOTATION_VM}. */
  readonly vmAnnotation: string | undefined
  /** Which labels rules have given it: see `parseRecord`. */
  readonly labelRecord: string | undefined
  readonly hasAnnotations: boolean
}

/** What to change on a Node; an absent part stays as it is. */
export interface NodePatch {
  /** For the status subresource; written first, so that no Node loses its taint before it has an address. */
  readonly addresses?: readonly NodeAddress[]
  /** Merged with the present ones; null removes one that is there. */
  readonly labels?: Readonly<Record<string, string | null>>
  readonly providerID?: string
  /** The same of annotations. */
  readonly annotations?: Readonly<Record<string, string | null>>
  /** The whole list, which replaces the present one; only the differences are sent. */
  readonly taints?: readonly Taint[]
}

export interface NodeReport {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  /** As the agent wrote it; opaque. Each change is a sign of life. */
  readonly reportedAt: string | undefined
  /** The checked spec, or what is wrong with it. */
  readonly spec: ReturnType<typeof parseSpec>
  /** As this controller or its predecessor wrote it. */
  readonly status: NodeReportStatus
}
