import type { NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { printable } from '../../../../../agent/shared/printable.ts'
import type { Node } from '../../../../types/node.ts'
import { sameMachineUUID } from '../../../../types/uuid.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { judgeProviderID } from '../../facts/provider-id.ts'
import { describeVM } from '../bound-vm.ts'
import { type ConditionValue, no } from '../condition-value.ts'
import type { NodeFacts } from '../node-facts.ts'

/** Why this Node cannot be this VM; undefined where nothing contradicts it. A kubelet alone knows no MACs. */
export function contradictionOf(
  {
    spec,
    vm,
    macs,
  }: { readonly spec: NodeReportSpec; readonly vm: VirtualMachine; readonly macs: readonly string[] },
  { node, machineUUID }: Pick<NodeFacts, 'node' | 'machineUUID'>,
): ConditionValue | undefined {
  return (
    productUUIDContradicts(spec) ??
    providerIDContradicts(vm, node) ??
    (machineUUID.witness === 'asserted' || macs.length > 0 ? undefined : macsContradict(spec, vm))
  )
}

/** The firmware's two UUIDs must be the same, up to the byte order of the first three groups. */
function productUUIDContradicts(spec: NodeReportSpec): ConditionValue | undefined {
  const { serialUUID, productUUID } = spec.machine
  if (serialUUID === undefined || productUUID === undefined) return undefined
  if (sameMachineUUID(serialUUID, productUUID)) return undefined
  return no(
    'UUIDsContradict',
    `product_serial ${serialUUID} and product_uuid ${productUUID} are not the same UUID in either byte order; check the VM's uuid.bios and SMBIOS settings`,
  )
}

/** A provider ID that is already set must name this VM. */
function providerIDContradicts(vm: VirtualMachine, node: Node): ConditionValue | undefined {
  if (judgeProviderID(node.providerID, vm.biosUUID) !== 'other-vm') return undefined
  return no(
    'ProviderIDOfAnotherVM',
    `the Node's provider ID ${printable(node.providerID ?? '', 80)} is not that of ${describeVM(vm)} (${vm.biosUUID ?? 'no BIOS UUID'}) and cannot change; if the machine was rebuilt under its name: kubectl delete node ${node.name}, then restart the kubelet there, which registers only when it starts; if the agent of another machine reports with this Node's kubeconfig, give that machine its own`,
  )
}

/** At least one MAC that the guest sees must be that of a vNIC of the VM. */
function macsContradict(spec: NodeReportSpec, vm: VirtualMachine): ConditionValue {
  const seen = spec.interfaces.map(({ mac }) => mac).join(', ') || 'none'
  const known = vm.nics.map(({ mac }) => mac).join(', ') || 'none'
  return no(
    'MACsContradict',
    `the guest has the MAC addresses ${seen}, ${describeVM(vm)} has ${known}; if the guest sets an address of its own (macaddress, cloned-mac-address), leave that out, or give the vNIC this address in vCenter; otherwise find out where the report comes from`,
  )
}

/**
 * The MACs that both the guest sees and vCenter knows as vNICs of the VM. One is enough: a passed-through NIC is visible
 * only in the guest, and a bond shows the same MAC on all of its members.
 */
export function commonMACs(spec: NodeReportSpec, vm: VirtualMachine): readonly string[] {
  const nics = new Set(vm.nics.map(({ mac }) => mac))
  return [...new Set(spec.interfaces.map(({ mac }) => mac))].filter((mac) => nics.has(mac))
}
