import type { NodeIndex } from '../gather/node-index.ts'
import type { Inventory, Lookup } from '../types/inventory.ts'
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

/** Whether a vCenter must have at least one VM, whatever it shows: see `ProofFacts.inhabited`. */
export type IsInhabited = (
  vCenter: Pick<VCenterProbe, 'vCenter' | 'vCenterInstanceUUID'>,
  except: string,
) => boolean

/**
 * True where another Node is bound to a VM there. Ignores Nodes that are not Ready and whose VM has been missing for long:
 * while an inventory loads all VMs are missing for a short time, and the machine of a Ready Node runs but is hidden. Ignores
 * Nodes too whose VM is in another vCenter.
 *
 * A Ready Node whose machine was never shown, such as one that another provider initialised, may have it there too: its
 * machine runs somewhere. It counts for the vCenter that had the Node's own VM, and for all where nobody knows which one that
 * was, unless another shows it. It does not count for others, which may never have had a VM.
 */
export function createInhabited(options: InhabitedOptions): IsInhabited {
  const { index, tracker, inventories, isReady, absentFor } = options
  return ({ vCenter, vCenterInstanceUUID = '' }, except) => {
    const lookups = (name: string, here: boolean): readonly Lookup[] =>
      inventories
        .filter((each) => (each.vCenter === vCenter) === here)
        .flatMap((each) => index.uuidsOf(name).map((uuid) => each.lookup(uuid)))
    const isElsewhere = (name: string): boolean =>
      lookups(name, true).every((lookup) => lookup.state === 'answered' && lookup.vms.length === 0)
    const isShownElsewhere = (name: string): boolean =>
      lookups(name, false).some((lookup) => lookup.state === 'answered' && lookup.vms.length > 0)
    const names = [...index.namesIn(vCenterInstanceUUID)]
    for (const name of names) {
      if (name === except) continue
      const missingFor = tracker.missingFor(name)
      const isAway = missingFor > 0 ? missingFor >= absentFor && !isReady(name) : isElsewhere(name)
      if (!isAway) return true
    }
    const unshown = [...index.namesIn('')]
    if (!names.includes(except) && !unshown.includes(except)) return false
    return unshown.some((name) => name !== except && isReady(name) && !isShownElsewhere(name))
  }
}
