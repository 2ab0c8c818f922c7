import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { guestOSName } from './guest-os.ts'

/**
 * The instance type as the CPI writes it: `vsphere-vm.cpu-4.mem-16gb.os-ubuntu`. Memory is rounded down to whole
 * gibibytes, as there (`DiscoverNode` in its nodemanager.go), so that existing node selectors go on matching.
 */
export function instanceType(vm: Pick<VirtualMachine, 'cpus' | 'memoryMB' | 'guestID'>): string {
  return `vsphere-vm.cpu-${vm.cpus}.mem-${Math.floor(vm.memoryMB / 1024)}gb.os-${guestOSName(vm.guestID)}`
}
