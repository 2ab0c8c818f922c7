/** All that a decision about one Node rests on. */
import type { Node, NodeReport } from '../facts/node.ts'
import type { Lookup } from '../facts/vcenter-view.ts'

export interface Settings {
  /** Tag categories. */
  readonly labels: { readonly zone: string | undefined; readonly region: string | undefined }
  /** Datacenters in scope by vCenter name; an empty list means all. */
  readonly datacenters: Readonly<Record<string, readonly string[]>>
}

/** Another Node that points to the same VM. */
export interface Rival {
  readonly name: string
  /** Whether this controller has bound it to the VM before: a verified Node is not harmed by a newcomer. */
  readonly holdsVM: boolean
}

export interface NodeFacts {
  readonly node: Node
  readonly report: NodeReport | undefined
  /** One answer per configured vCenter for the reported BIOS UUID; empty where no UUID is reported. */
  readonly lookups: readonly { readonly vCenter: string; readonly lookup: Lookup }[]
  readonly rivals: readonly Rival[]
  /** Name of the existing Node with this UID, for reading a claim. */
  readonly nodeNameByUID: (uid: string) => string | undefined
  readonly settings: Settings
  /** Milliseconds since the epoch. */
  readonly now: number
}
