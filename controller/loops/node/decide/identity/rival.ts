import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { deletionHangs } from '../../facts/removal.ts'
import { describeVM, mayBeBoundTo } from '../bound-vm.ts'
import { type ConditionValue, no } from '../condition-value.ts'
import type { Rival } from '../node-facts.ts'
import { commonMACs } from './contradiction.ts'

/**
 * Why other Nodes speak against this Node's being the VM, by when that counts; undefined where none does.
 *
 * @param holdsVM whether this Node was verified to be the VM before
 */
export function objectionsOf(vm: VirtualMachine, holdsVM: boolean, rivals: readonly Rival[]) {
  return {
    /** Whatever the VM claims. */
    original: holdsVM ? undefined : verifiedOriginal(vm, rivals),
    /** Where the VM claims to be this Node. */
    proven: holdsVM ? undefined : provenRival(vm, rivals),
    /** Where no claim decides. */
    withoutClaim: strongerRival(vm, holdsVM, rivals),
  }
}

/**
 * Another Node that prevents verification where no claim decides. A second Node on the same VM makes both doubtful, except
 * the one that was verified to be this VM before.
 */
function strongerRival(
  vm: VirtualMachine,
  holdsVM: boolean,
  rivals: readonly Rival[],
): ConditionValue | undefined {
  const rival = rivals.find((other) => pointsTo(other, vm) && (!holdsVM || mayBeBoundTo(other.boundTo, vm)))
  if (rival === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `Node ${rival.name} also points to ${describeVM(vm)}, and no claim in guestinfo tells which is right; ${deletionHangs(rival) ?? 'delete the Node that is wrong'}`,
  )
}

/**
 * Another Node that was proven to be this VM. It keeps the VM, because any user of the guest can write a claim; a Node that
 * merely reported the VM gives way to a claim.
 */
function provenRival(vm: VirtualMachine, rivals: readonly Rival[]): ConditionValue | undefined {
  const holder = rivals.find(({ boundTo, level }) => level === 'proven' && mayBeBoundTo(boundTo, vm))
  if (holder === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `${describeVM(vm)} claims to be this Node, but Node ${holder.name} was proven to be it before; ${deletionHangs(holder) ?? 'delete that Node if the machine was renamed, otherwise look for a forged claim'}`,
  )
}

/** The verified Node whose VM this is a copy of. Both would get the same provider ID, so the copy is refused. */
function verifiedOriginal(vm: VirtualMachine, rivals: readonly Rival[]): ConditionValue | undefined {
  const other = rivals.find(
    ({ boundTo }) => boundTo !== undefined && boundTo.biosUUID === vm.biosUUID && !mayBeBoundTo(boundTo, vm),
  )
  if (other?.boundTo === undefined) return undefined
  return no(
    'AmbiguousUUID',
    `${describeVM(vm)} has the BIOS UUID of VM "${other.boundTo.name}" (${other.boundTo.moref}), which is Node ${other.name}; give the copy its own UUID (power off, then set uuid.bios)`,
  )
}

/** False for a Node on a copy of the VM with other vNICs: it only shares the UUID. */
function pointsTo({ boundTo, spec }: Rival, vm: VirtualMachine): boolean {
  if (boundTo !== undefined) return mayBeBoundTo(boundTo, vm)
  return spec === undefined || spec.machine.serialUUID === undefined || commonMACs(spec, vm).length > 0
}
