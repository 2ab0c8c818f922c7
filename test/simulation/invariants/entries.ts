/** The entries of inventories that statuses name. */
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import type { VM } from '../model/machine.ts'
import type { World } from '../world.ts'

export type Bound = Pick<BoundVM, 'vCenter' | 'vCenterInstanceUUID' | 'moref'>

/** The entry, listed or not, that a status names. A reference is unique in one vCenter alone. */
export function entryOf({ vCenters, clones }: World, { vCenter, moref }: Bound): VM | undefined {
  const its = [...vCenters, ...clones].find(({ name }) => name === vCenter)
  // What a copy shows of an entry of the original says nothing of that.
  return its?.cloneOf?.known.get(moref) ?? its?.known.get(moref)
}

/** Whether a vCenter lists it. */
export function isListed(world: World, vm: Bound | undefined): boolean {
  const entry = vm && entryOf(world, vm)
  return entry !== undefined && entry.vCenter.vms.get(entry.moref) === entry
}
