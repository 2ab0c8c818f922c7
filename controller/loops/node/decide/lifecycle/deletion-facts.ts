import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import type { LifecycleConfig } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import type { Unmet } from './absence-proofs.ts'
import type { Fleet } from './disruption-limit.ts'
import type { Evidence } from './evidence.ts'

/** Everything that the deletion of a Node whose VM is missing depends on. Times are monotonic, in milliseconds. */
export interface DeletionFacts {
  readonly node: Node
  readonly vm: BoundVM
  /** Whether the Node was ever verified to be this VM. */
  readonly bound: boolean
  /** See `mayGoUnseen`. */
  readonly goesUnseen: boolean
  readonly evidence: Evidence
  readonly lifeSign: string
  readonly fleet: Fleet
  /** Why the brake holds this Node; undefined where it does not. */
  readonly braked: Unmet | undefined
  /** Whether all other VMs have been read since this one was lost. */
  readonly othersRead: boolean
  /** Another Node whose VM is missing and that the fleet does not count yet. */
  readonly uncounted: () => string | undefined
  /** How long this replica has led. */
  readonly leadingFor: number
  readonly monotonic: number
  /** Milliseconds since the epoch. */
  readonly now: number
  /** What the API server said when it last refused the deletion; undefined where that is long ago. */
  readonly refused: string | undefined
  readonly settings: LifecycleConfig
}
