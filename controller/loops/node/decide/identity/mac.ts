import type { NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'

/**
 * The MACs that both the guest sees and vCenter knows as vNICs of the VM. One is enough: a passed-through NIC is visible
 * only in the guest, and a bond shows the same MAC on all of its members.
 */
export function commonMACs(spec: NodeReportSpec, vm: VirtualMachine): readonly string[] {
  const nics = new Set(vm.nics.map(({ mac }) => mac))
  return [...new Set(spec.interfaces.map(({ mac }) => mac))].filter((mac) => nics.has(mac))
}
