/** Everything that a decision on one Node depends on. */
import type { BoundVM, IdentityLevel, NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import type { InterlockState, PolicyState } from '../../../types/cluster-state.ts'
import type { ConditionValues } from '../../../types/condition-value.ts'
import type { Lookup, Proof } from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { KnownNode } from '../facts/machines.ts'
import type { Unmet } from './lifecycle/absence-proofs.ts'
import type { Fleet } from './lifecycle/brake.ts'
import type { Evidence } from './lifecycle/evidence.ts'

/** Another Node that points to a BIOS UUID. */
export interface Rival extends Pick<Node, 'name' | 'deletingSince' | 'finalizers'> {
  /** The VM that it is verified to be, and how strongly. */
  readonly boundTo: BoundVM | undefined
  readonly level: IdentityLevel | undefined
  /** Its own report; undefined where there is no valid one. */
  readonly spec: NodeReportSpec | undefined
}

/** Another Node that holds an address or a host name. */
export interface AddressHolder extends Pick<Node, 'name' | 'deletingSince' | 'finalizers'> {
  /** RFC 3339; undefined where there is no such Node any more. */
  readonly creationTimestamp: string | undefined
  /** Whether the Node was verified with it. Otherwise only a provider or a kubelet claims it. */
  readonly verified: boolean
  readonly witness: AddressWitness
  /** Why nothing is known of its VM; undefined where something is, or will be in a moment, or it was never verified. */
  readonly unseen: string | undefined
}

/** What vCenter says of an address that a Node has, or wants. */
export interface AddressWitness {
  /** Whether VMware Tools report it on the VM's vNICs: `denied` where they report only others of its family there. */
  readonly tools: 'shown' | 'denied' | 'unknown'
  /** Whether its vNIC is in a network that the configuration names; `unknown` where it names none. */
  readonly network: 'named' | 'other' | 'unknown'
}

/**
 * Labels of a Node that rules have given it and whose value vCenter no longer shows, with {@link NodeFacts.fullReads} when that
 * was first seen.
 */
export type AbsentLabels = ReadonlyMap<string, number>

export interface ClaimedNode {
  readonly name: string
  /** The VM that it is verified to be. */
  readonly boundTo: BoundVM | undefined
  /** Every BIOS UUID by which it points to a VM: from its report, its provider ID, or its kubelet, in both byte orders. */
  readonly uuids: readonly string[]
}

/** What one vCenter answers of one BIOS UUID. */
export interface NodeLookup {
  readonly vCenter: string
  readonly uuid: string
  readonly lookup: Lookup
}

/** What is known of when an agent last reported. */
export interface AgentContact {
  /** Milliseconds since this process saw its last report, or the Node become Ready after it. */
  readonly silentFor: number
  /** Whether what it is counted from is a new report, rather than this process's start or the Node's. */
  readonly isHeard: boolean
}

export interface NodeFacts extends KnownNode {
  readonly node: Node
  readonly report: NodeReport | undefined
  /** Undefined where there is no report of an agent that says when it was written. */
  readonly agentContact: AgentContact | undefined
  /** One lookup for each vCenter and BIOS UUID: those to search for, and that of the bound VM. */
  readonly lookups: readonly NodeLookup[]
  /**
   * What the vCenter with this `about.instanceUuid` does. One that has not said yet who it is may be any. `away`: it is down, or
   * cannot be reached. `refuses`: it is there, and does not let us in.
   */
  readonly vCenterState: (instanceUUID: string) => 'answers' | 'away' | 'refuses' | 'unconfigured'
  /**
   * The other Nodes that point to a BIOS UUID by which this one's VM is searched for; where nobody reports one, to that of
   * its provider ID.
   */
  readonly rivals: readonly Rival[]
  /** The existing Node with this UID, for reading a claim. */
  readonly nodeByUID: (uid: string) => ClaimedNode | undefined
  /**
   * Another Node that holds this IP address (canonical text) or this host name (lower case), or for which it is reserved; of
   * several, the one with the strongest right to it. A Node whose machine is proven gone holds none. A function rather than a
   * value: which addresses a Node may get is found by parsing everything that its agent and VMware Tools report, which is too
   * expensive to do twice.
   */
  readonly addressHolder: (address: string) => AddressHolder | undefined
  /** What vCenter says of an address of this Node itself, also while its identity is not judged. */
  readonly ownWitness: (address: string) => AddressWitness
  readonly policy: PolicyState
  readonly interlock: InterlockState
  /**
   * The labels of zone and region by which the vSphere CSI driver is, or was last, registered on this Node. Undefined where
   * that is not known.
   */
  readonly csiTopologyKeys: readonly string[] | undefined
  /** What other loops say of the Node. */
  readonly otherConditions: ConditionValues
  readonly settings: DecisionConfig
  /** What the probes of this Node's VM have shown while it is missing or off. */
  readonly evidence: Evidence | undefined
  /**
   * For each vCenter, whether it could be proven there that the bound VM is gone; undefined where that is not known yet.
   */
  readonly provable: readonly (Proof | undefined)[]
  /** What the API server said if it refused this Node's deletion in the last few minutes. */
  readonly deletionRefused: string | undefined
  /** When this Node's VM first went missing, monotonic, if this leader knows. */
  readonly absentSince: number | undefined
  /** By group (see `brakeGroup`). This Node is counted in `bound` only. */
  readonly fleet: (group: string) => Fleet
  /**
   * Another Node of this group whose VM is missing by what the inventories show now, and which has not been reconciled
   * since: the fleet does not count it yet. Reads all Nodes of the group.
   */
  readonly uncounted: (group: string) => string | undefined
  /** How often all of this vCenter, by its name, was read: see `Inventory.fullReads`. */
  readonly fullReads: (vCenter: string) => number
  /** What the last decision said of labels whose value is gone: see `Decision.absentLabels`. */
  readonly absentLabels: AbsentLabels
  /** Milliseconds since this replica became leader. */
  readonly leadingFor: number
  /** Milliseconds since the epoch, for what is written down. */
  readonly now: number
  /** Milliseconds that never go back, for durations. */
  readonly monotonic: number
}

/** What the deletion of a Node whose VM is missing depends on. */
export interface DeletionFacts extends Omit<NodeFacts, 'evidence' | 'fleet' | 'uncounted'> {
  /** Whether the Node was ever verified to be this VM. */
  readonly bound: boolean
  /** See `mayGoUnseen`. */
  readonly goesUnseen: boolean
  readonly evidence: Evidence
  readonly fleet: Fleet
  /** Why the brake holds this Node; undefined where it does not. */
  readonly braked: Unmet | undefined
  /** Another Node whose VM is missing and that the fleet does not count yet. */
  readonly uncounted: () => string | undefined
}
