/** All that a decision about one Node rests on. */
import type { BoundVM, IdentityLevel, NodeReportSpec } from '../../agent/contract.ts'
import type { DecisionConfig } from '../config/config.ts'
import type { Lookup } from '../types/inventory.ts'
import type { Node, NodeReport } from '../types/node.ts'
import type { PolicyState } from '../types/policy-state.ts'
import type { Proof } from '../types/vcenter-probe.ts'
import type { Fleet } from './lifecycle/disruption-limit.ts'
import type { Evidence } from './lifecycle/evidence.ts'

/** Another Node that points to the same BIOS UUID. */
export interface Rival {
  readonly name: string
  /** The VM that it is verified to be, and how strongly. */
  readonly boundTo: BoundVM | undefined
  readonly level: IdentityLevel | undefined
  /** Its own report; undefined where there is none, or none that is valid. */
  readonly spec: NodeReportSpec | undefined
}

/** A Node that a claim names. */
export interface ClaimedNode {
  readonly name: string
  /** The VM that it is verified to be. */
  readonly boundTo: BoundVM | undefined
  /** Every BIOS UUID that points from it to a VM: reported, in its provider ID, or its kubelet's word in both orders. */
  readonly uuids: readonly string[]
}

export interface NodeFacts {
  readonly node: Node
  readonly report: NodeReport | undefined
  /** One answer per configured vCenter and BIOS UUID: those to look for, and that of the VM it is bound to. */
  readonly lookups: readonly { readonly vCenter: string; readonly uuid: string; readonly lookup: Lookup }[]
  readonly rivals: readonly Rival[]
  /** The existing Node with this UID, for reading a claim. */
  readonly nodeByUID: (uid: string) => ClaimedNode | undefined
  /**
   * Another Node that has this IP address (canonical text) or, in lower case, this host name. One whose machine is proven
   * gone has none.
   */
  readonly addressHolder: (address: string) => string | undefined
  /** Whether only a node's own agent can have written the report. */
  readonly policy: PolicyState
  readonly settings: DecisionConfig
  /** What was found out about a VM of this Node that is missed or off. */
  readonly evidence: Evidence | undefined
  /**
   * For each configured vCenter, whether it could be proven there that the bound VM is gone; undefined where that is not
   * known yet.
   */
  readonly provable: readonly (Proof | undefined)[]
  /** What the API server said in the last few minutes, when it would not have this Node's deletion. */
  readonly deletionRefused: string | undefined
  /** Since when this Node's VM is missed, monotonic, if this leader knows it. */
  readonly absentSince: number | undefined
  /** By group (see `groupOf`); this Node counts among the bound alone. */
  readonly fleet: (group: string) => Fleet
  /** Milliseconds since this replica became leader. */
  readonly leadingFor: number
  /** Milliseconds since the epoch, for what is written down. */
  readonly now: number
  /** Milliseconds that never go back, for durations. */
  readonly monotonic: number
}
