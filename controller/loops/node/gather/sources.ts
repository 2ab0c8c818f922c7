import type { DecisionConfig } from '../../../config/config.ts'
import type { InterlockState, PolicyState } from '../../../types/cluster-state.ts'
import type { Inventory } from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { ProbeTracker } from '../vm-probes/probe-tracker.ts'
import type { AddressReservations } from './address-reservations.ts'
import type { NodeIndex } from './node-index.ts'

/** Where facts are read from: memory only, no calls. */
export interface Sources {
  readonly node: (name: string) => Node | undefined
  readonly report: (name: string) => NodeReport | undefined
  readonly index: NodeIndex
  readonly reservations: Pick<AddressReservations, 'holders'>
  readonly inventories: readonly Inventory[]
  readonly policy: () => PolicyState
  readonly interlock: () => InterlockState
  readonly csiTopologyKeys: (node: Node) => readonly string[] | undefined
  readonly settings: DecisionConfig
  readonly tracker: Pick<ProbeTracker, 'evidence' | 'fleet' | 'refusal' | 'absentSince' | 'tracksMissing'>
  /** Milliseconds since this replica became leader. */
  readonly leadingFor: () => number
}
