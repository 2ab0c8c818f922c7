import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import type { ConditionValue } from './condition-value.ts'

/** A VM in words: name, moref and vCenter. */
export function describeVM(vm: VirtualMachine): string {
  return named(vm.name, vm.moref, vm.vCenter.name)
}

/** The VM that a Node is bound to, as it was last seen. */
export function describeBound({ name, moref, vCenter, biosUUID }: BoundVM): string {
  // No vCenter has ever shown it.
  if (moref === '') return `the machine with BIOS UUID ${biosUUID}`
  return named(name, moref, vCenter)
}

function named(name: string, moref: string, vCenter: string): string {
  return `VM "${name}" (${moref}) in vCenter ${vCenter}`
}

/** For a Fault Tolerance group without a single primary: a secondary runs nothing of its own. */
export function secondaryOnly(vm: VirtualMachine): Pick<ConditionValue, 'reason' | 'message'> {
  return {
    reason: 'FaultToleranceSecondary',
    message: `${describeVM(vm)} belongs to a Fault Tolerance group without exactly one primary; wait for the failover to end, else turn Fault Tolerance off`,
  }
}
