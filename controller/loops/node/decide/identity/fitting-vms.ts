/** Which of the VMs under a Node's UUID may be its machine, and what contradicts one. */
import type { BoundVM, NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { printable } from '../../../../../agent/shared/printable.ts'
import { sameMachineUUID } from '../../../../../agent/shared/uuid.ts'
import { type ConditionValue, no } from '../../../../types/condition-value.ts'
import type { Node } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { MachineUUID } from '../../facts/machines.ts'
import { judgeProviderID } from '../../facts/provider-id.ts'
import { describeVM, isBoundTo, isOfGroup } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'
import { outOfScope } from '../topology/scope.ts'
import { provesClaim } from './claim.ts'

/** What a Node's agent, or its kubelet, says of its machine. */
export interface MachineWord {
  readonly machine: MachineUUID
  readonly spec: NodeReportSpec
}

/**
 * The VMs that may be the Node's. A template, a dead entry and a VM outside the configured datacenters are none, unless
 * there is no other. Of the rest, those that have the vNICs which the guest sees, if any has: that is vCenter's word, while
 * the guest of a copy may write any claim. `pending` where the datacenter of one is not known yet.
 */
export function fittingOf(
  vms: readonly VirtualMachine[],
  { machine, spec }: MachineWord,
  facts: NodeFacts,
): readonly VirtualMachine[] | 'pending' {
  if (vms.length > 1 && vms.some((vm) => vm.ancestry === undefined && isScoped(vm, facts))) return 'pending'
  const living = vms.filter((vm) => !vm.template && !isDeadEntry(vm) && isInScope(vm, facts))
  const left = withoutOldEntries(
    living.length > 0 ? living : vms.filter((vm) => !vm.template && isInScope(vm, facts)),
  )
  if (machine.witness === 'asserted') return left
  const withMACs = left.filter((vm) => commonMACs(spec, vm).length > 0)
  return withMACs.length > 0 ? withMACs : left
}

/**
 * Drops stale entries of a VM that runs under another reference: of several with one instance UUID in one vCenter, the one on
 * a host that answers is the VM. An entry with an instance UUID of its own stays: it may be the machine, and the other a copy.
 */
function withoutOldEntries(vms: readonly VirtualMachine[]): readonly VirtualMachine[] {
  const runs = vms.filter((vm) => machineState(vm) === 'runs')
  const isOld = (vm: VirtualMachine): boolean =>
    machineState(vm) === 'unknown' &&
    vm.instanceUUID !== undefined &&
    runs.some(
      (other) =>
        other.instanceUUID === vm.instanceUUID && other.vCenter.instanceUUID === vm.vCenter.instanceUUID,
    )
  return vms.filter((vm) => !isOld(vm))
}

/** Whether nothing in the report or on the Node speaks against this VM. */
export function isPossible(vm: VirtualMachine, spec: NodeReportSpec, facts: NodeFacts): boolean {
  return contradictionOf({ spec, vm, macs: commonMACs(spec, vm) }, facts) === undefined
}

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

/**
 * Whether the machine of this VM runs now and shows the claim of the report. What a VM that is off shows, it wrote before.
 */
export function showsClaim(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  facts: Pick<NodeFacts, 'nodeByUID'>,
): boolean {
  return machineState(vm) !== 'off' && provesClaim(vm, spec, facts)
}

/**
 * Whether a VM with the UUID of a Node that runs is its machine rather than somebody's copy: it is the VM that the Node was
 * verified to be, or shows its claim. Where the agent writes none, it has the instance UUID, which a move keeps. For a
 * Node that was never verified, the UUID is all that is known, unless a VM was seen for it.
 */
export function isMachineOf(
  { bound, spec }: { readonly bound: BoundVM | undefined; readonly spec: NodeReportSpec | undefined },
  vm: VirtualMachine,
): boolean {
  if (isBoundTo(bound, vm)) return true
  if (spec?.claim.digest !== undefined) return showsClaim(vm, spec, { nodeByUID: () => undefined })
  return bound === undefined || (bound.instanceUUID !== '' && bound.instanceUUID === vm.instanceUUID)
}

/** Those of these VMs that can be a machine: no templates, no dead entries, and no stale ones of a VM that runs. */
export function machinesAmong(vms: readonly VirtualMachine[]): readonly VirtualMachine[] {
  return withoutOldEntries(vms.filter((vm) => !vm.template && !isDeadEntry(vm)))
}

/** Whether no host has the VM that this entry was of. */
export function isDeadEntry({ connectionState }: Pick<VirtualMachine, 'connectionState'>): boolean {
  return connectionState === 'orphaned' || connectionState === 'invalid'
}

/** Whether no VM of a Fault Tolerance group is its primary, or two are, as while vCenter reports one after the other. */
export function isFailingOver(primaries: readonly VirtualMachine[]): boolean {
  return primaries.length === 0 || primaries.some((each) => primaries.some((other) => isOfGroup(each, other)))
}

function isScoped({ vCenter }: VirtualMachine, { settings }: NodeFacts): boolean {
  return (settings.datacenters[vCenter.name] ?? []).length > 0
}

function isInScope(vm: VirtualMachine, { settings }: NodeFacts): boolean {
  const { ancestry } = vm
  if (ancestry === undefined) return true
  return outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? []) === undefined
}
