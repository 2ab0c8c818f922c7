import type { NodeIndex } from '../gather/node-index.ts'
import type { Inventory } from '../types/inventory.ts'
import type { VCenterProbe } from '../types/vcenter-probe.ts'
import type { ProbeTracker } from './probe-tracker.ts'

export interface InhabitedOptions {
  readonly index: Pick<NodeIndex, 'namesIn' | 'uuidsOf'>
  readonly tracker: Pick<ProbeTracker, 'missingFor'>
  readonly inventories: readonly Pick<Inventory, 'vCenter' | 'lookup'>[]
  /** Whether the Node is Ready. */
  readonly isReady: (name: string) => boolean
  /** `lifecycle.absentFor`, milliseconds. */
  readonly absentFor: number
}

/** Whether a vCenter must have at least one VM, whatever it shows: see `ProbeResult.inhabited`. */
export type IsInhabited = (
  vCenter: Pick<VCenterProbe, 'vCenter' | 'vCenterInstanceUUID'>,
  except: string,
) => boolean

/**
 * True where another Node is bound to a VM there. Ignores Nodes that are not Ready and whose VM has been missing for long:
 * while an inventory loads all VMs are missing for a short time, and the machine of a Ready Node runs but is hidden. Ignores
 * Nodes too whose VM is in another vCenter.
 */
export function createInhabited(options: InhabitedOptions): IsInhabited {
  const { index, tracker, inventories, isReady, absentFor } = options
  return ({ vCenter, vCenterInstanceUUID = '' }, except) => {
    const inventory = inventories.find((each) => each.vCenter === vCenter)
    const isElsewhere = (name: string): boolean =>
      index.uuidsOf(name).every((uuid) => {
        const lookup = inventory?.lookup(uuid)
        return lookup?.state === 'answered' && lookup.vms.length === 0
      })
    for (const name of index.namesIn(vCenterInstanceUUID)) {
      if (name === except) continue
      const missingFor = tracker.missingFor(name)
      const isAway = missingFor > 0 ? missingFor >= absentFor && !isReady(name) : isElsewhere(name)
      if (!isAway) return true
    }
    return false
  }
}
