import type { BoundVM } from '../../agent/contract.ts'
import type { VirtualMachine } from '../facts/virtual-machine.ts'

/** A VM in words: name, reference and vCenter. */
export function describeVM(vm: VirtualMachine): string {
  return words(vm.name, vm.reference, vm.vCenter.name)
}

/** The VM that a Node is bound to, as it was last seen. */
export function describeBound({ name, moref, vCenter }: BoundVM): string {
  return words(name, moref, vCenter)
}

function words(name: string, reference: string, vCenter: string): string {
  return `VM "${name}" (${reference}) in vCenter ${vCenter}`
}
