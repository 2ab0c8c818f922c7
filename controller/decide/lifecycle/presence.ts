import type { BoundVM } from '../../../agent/contract.ts'
import type { VCenterFailure } from '../../facts/vcenter-failure.ts'
import type { VirtualMachine } from '../../facts/virtual-machine.ts'
import { isBoundTo } from '../binding.ts'
import type { NodeFacts } from '../facts.ts'

/** What the inventories show of the VM that a Node is verified to be. */
export type Presence =
  | { readonly kind: 'seen'; readonly vm: VirtualMachine }
  /** Not answered yet; the inventory will call back. */
  | { readonly kind: 'pending' }
  /** A vCenter could not be asked: nothing is concluded. */
  | { readonly kind: 'unknown'; readonly failure: VCenterFailure }
  /** Another VM has its BIOS UUID: a copy, or the same one elsewhere, about which identity has the first word. */
  | { readonly kind: 'other'; readonly vm: VirtualMachine }
  /** All vCenters have answered without it. It may be gone; that is to be found out. */
  | { readonly kind: 'missed' }

export function presenceOf(bound: BoundVM, lookups: NodeFacts['lookups']): Presence {
  let other: VirtualMachine | undefined
  let pending = lookups.every(({ uuid }) => uuid !== bound.biosUUID)
  let failure: VCenterFailure | undefined
  for (const { uuid, lookup } of lookups) {
    if (uuid !== bound.biosUUID) continue
    if (lookup.state === 'pending') pending = true
    else if (lookup.state === 'unknown') failure ??= lookup.failure
    else {
      const vm = lookup.vms.find((each) => isBoundTo(bound, each))
      if (vm !== undefined) return { kind: 'seen', vm }
      other ??= lookup.vms[0]
    }
  }
  if (other !== undefined) return { kind: 'other', vm: other }
  if (pending) return { kind: 'pending' }
  return failure === undefined ? { kind: 'missed' } : { kind: 'unknown', failure }
}
