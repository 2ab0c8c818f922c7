import type { Machine } from '../model/machine.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'

/** Where a fault strikes. */
export interface Focus {
  readonly machine: Machine
  /** Where its Node's VM is, or was. */
  readonly vCenter: VCenterModel
}

/**
 * Begins a fault; what it returns ends it. Undefined where it does not apply, or leaves nothing to be ended. The randomness of
 * the world that it gets is its own.
 */
export type Fault = (world: World, focus: Focus) => (() => void) | undefined

export type Faults = Readonly<Record<string, Fault>>
