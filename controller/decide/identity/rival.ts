import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo } from '../binding.ts'
import { type ConditionValue, no } from '../condition.ts'
import { describeVM } from '../describe-vm.ts'
import type { Rival } from '../node-facts.ts'
import { commonMACs } from './mac.ts'

/**
 * Another Node that stands in the way where no claim decides: a second Node on the same VM makes both doubtful, only the
 * one that was found to be this VM before is left alone.
 *
 * @param holdsVM whether this Node is that one
 */
export function strongerRival(
  vm: VirtualMachine,
  holdsVM: boolean,
  rivals: readonly Rival[],
): ConditionValue | undefined {
  const rival = rivals.find((other) => pointsTo(other, vm) && (!holdsVM || isBoundTo(other.boundTo, vm)))
  if (rival === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `Node ${rival.name} also points to ${describeVM(vm)}, and no claim in guestinfo tells which is right; delete the Node that is wrong`,
  )
}

/**
 * Another Node that was proven to be this VM: a claim, which any user of the guest can write, does not take it away. One
 * that merely reported it has to give way.
 */
export function provenRival(vm: VirtualMachine, rivals: readonly Rival[]): ConditionValue | undefined {
  const holder = rivals.find(({ boundTo, level }) => level === 'proven' && isBoundTo(boundTo, vm))
  if (holder === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `${describeVM(vm)} says that it is this Node, while Node ${holder.name} was proven to be it before; delete that Node if the machine was renamed, else look for a forged claim`,
  )
}

/** A copy of a verified Node's VM: told apart from it, but its provider ID would be the same, and name two Nodes. */
export function verifiedOriginal(vm: VirtualMachine, rivals: readonly Rival[]): ConditionValue | undefined {
  const other = rivals.find(
    ({ boundTo }) => boundTo !== undefined && boundTo.biosUUID === vm.biosUUID && !isBoundTo(boundTo, vm),
  )
  if (other?.boundTo === undefined) return undefined
  return no(
    'AmbiguousUUID',
    `${describeVM(vm)} has the BIOS UUID of VM "${other.boundTo.name}" (${other.boundTo.moref}), which is Node ${other.name}; give the copy a UUID of its own (power off, then set uuid.bios)`,
  )
}

/** One that has a copy of the VM, with the same UUID and other vNICs, has nothing to do with this one. */
function pointsTo({ boundTo, spec }: Rival, vm: VirtualMachine): boolean {
  if (boundTo !== undefined) return isBoundTo(boundTo, vm)
  return spec === undefined || spec.machine.serialUUID === undefined || commonMACs(spec, vm).length > 0
}
