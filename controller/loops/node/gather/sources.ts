import type { DecisionConfig } from '../../../config/config.ts'
import type { InterlockState, PolicyState } from '../../../types/cluster-state.ts'
import type { ConditionValues } from '../../../types/condition-value.ts'
import type { Inventory } from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { AbsentLabels, AgentContact } from '../decide/node-facts.ts'
import type { ProbeTracker } from '../vm-probes/probe-tracker.ts'
import type { NodeIndex } from './node-index.ts'

/** Where facts are read from: memory only, no calls. */
export interface Sources {
  readonly node: (name: string) => Node | undefined
  readonly report: (name: string) => NodeReport | undefined
  readonly index: NodeIndex
  /**
   * Names of the Nodes that were decided to have this address, as long as the index does not show it because their status is
   * still to be written. Otherwise two Nodes that are decided on meanwhile could get one address.
   */
  readonly reservedBy: (address: string) => Iterable<string>
  /** When the agent of a report was last heard; to be asked whenever a report may be new. */
  readonly agentContact: (
    report: NodeReport | undefined,
    node: Pick<Node, 'ready' | 'uid'>,
    monotonic: number,
  ) => AgentContact | undefined
  readonly inventories: readonly Inventory[]
  /** Those of the last decision on this Node. */
  readonly absentLabels: (name: string) => AbsentLabels
  readonly policy: () => PolicyState
  readonly interlock: () => InterlockState
  readonly csiTopologyKeys: (node: Node) => readonly string[] | undefined
  readonly otherConditions: (name: string) => ConditionValues
  readonly settings: DecisionConfig
  readonly tracker: Pick<ProbeTracker, 'evidence' | 'fleet' | 'refusal' | 'absentSince' | 'tracksMissing'>
  /** Milliseconds since this replica became leader. */
  readonly leadingFor: () => number
}
