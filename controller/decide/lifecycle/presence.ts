import type { BoundVM } from '../../../agent/contract.ts'
import type { VCenterFailure } from '../../facts/vcenter-failure.ts'
import { isSecondary, type VirtualMachine } from '../../facts/virtual-machine.ts'
import { isBoundTo } from '../binding.ts'
import { secondaryOnly } from '../describe-vm.ts'
import type { NodeFacts } from '../facts.ts'
import { machineState } from '../machine-state.ts'

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

/** The primary is about to be another one, or is gone: then the secondary becomes it, and nothing is missed. */
function withoutPrimary(secondary: VirtualMachine): VCenterFailure {
  const { reason, message } = secondaryOnly(secondary)
  return { vCenter: secondary.vCenter.name, reason, message }
}

export function presenceOf(bound: BoundVM, lookups: NodeFacts['lookups']): Presence {
  let other: VirtualMachine | undefined
  let pending = lookups.every(({ uuid }) => uuid !== bound.biosUUID)
  let failure: VCenterFailure | undefined
  for (const { uuid, lookup } of lookups) {
    if (uuid !== bound.biosUUID) continue
    if (lookup.state === 'pending') pending = true
    else if (lookup.state === 'unknown') failure ??= lookup.failure
    else {
      const its = lookup.vms.filter((each) => isBoundTo(bound, each))
      // Of a Fault Tolerance group, the primary alone says whether the machine runs; while roles change there may be two.
      const primaries = its.filter((each) => !isSecondary(each))
      const vm = primaries.find((each) => machineState(each) !== 'off') ?? primaries[0]
      if (vm !== undefined) return { kind: 'seen', vm }
      const [secondary] = its
      if (secondary !== undefined) failure ??= withoutPrimary(secondary)
      else other ??= lookup.vms[0]
    }
  }
  if (other !== undefined) return { kind: 'other', vm: other }
  if (pending) return { kind: 'pending' }
  return failure === undefined ? { kind: 'missed' } : { kind: 'unknown', failure }
}
