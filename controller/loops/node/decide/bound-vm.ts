import { type BoundVM, MAX_GROUP, type ParentObject } from '../../../../agent/shared/node-report.ts'
import { printable } from '../../../../agent/shared/printable.ts'
import type { ConditionValue } from '../../../types/condition-value.ts'
import {
  type Ancestry,
  bindingParents,
  faultToleranceGroup,
  type VirtualMachine,
} from '../../../types/virtual-machine.ts'

/**
 * Whether a binding is to this VM or to another VM of its Fault Tolerance group, which is the same machine: a failover
 * only changes which of them runs it. A managed object reference is unique within one vCenter. Both VMs of a group must
 * have named each other: the owner of a VM may write into its configuration whatever he likes.
 */
export function isBoundTo(bound: BoundVM | undefined, vm: VirtualMachine): boolean {
  if (bound === undefined || bound.vCenterInstanceUUID !== vm.vCenter.instanceUUID) return false
  if (bound.moref === vm.moref) return true
  const { instanceUUID, group = [] } = bound
  if (instanceUUID === '' || vm.instanceUUID === undefined || !group.includes(vm.instanceUUID)) return false
  return faultToleranceGroup(vm)?.instanceUUIDs.includes(instanceUUID) === true
}

/**
 * Whether this may be the bound VM under a new reference: it was unregistered and registered again, which leaves its
 * instance UUID as it is (kubernetes/cloud-provider-vsphere#455). Others may take that UUID while it is away.
 */
export function isRegisteredAgain(
  { vCenterInstanceUUID, moref, instanceUUID }: BoundVM,
  vm: VirtualMachine,
): boolean {
  return (
    vCenterInstanceUUID === vm.vCenter.instanceUUID &&
    moref !== vm.moref &&
    instanceUUID !== '' &&
    instanceUUID === vm.instanceUUID
  )
}

/** Whether this is the bound VM, or may be it under a new reference. */
export function mayBeBoundTo(bound: BoundVM | undefined, vm: VirtualMachine): boolean {
  return isBoundTo(bound, vm) || (bound !== undefined && isRegisteredAgain(bound, vm))
}

/** Whether two VMs are of one Fault Tolerance group, by the word of both. */
export function isOfGroup(vm: VirtualMachine, other: VirtualMachine): boolean {
  return vm.moref !== other.moref && names(vm, other) && names(other, vm)
}

function names(vm: VirtualMachine, { instanceUUID }: VirtualMachine): boolean {
  return instanceUUID !== undefined && faultToleranceGroup(vm)?.instanceUUIDs.includes(instanceUUID) === true
}

/** Longest texts that the schema allows. */
const MAX_NAME = 512
const MAX_ID = 64

/** The binding to a VM; undefined where vCenter does not tell its UUID. */
export function binding(vm: VirtualMachine): BoundVM | undefined {
  if (vm.biosUUID === undefined) return undefined
  const name = (text: string): string => printable(text, MAX_NAME)
  const id = (text: string): string => printable(text, MAX_ID)
  return {
    vCenter: vm.vCenter.name,
    vCenterInstanceUUID: id(vm.vCenter.instanceUUID),
    moref: id(vm.moref),
    name: name(vm.name),
    instanceUUID: id(vm.instanceUUID ?? ''),
    biosUUID: vm.biosUUID,
    ...groupOf(vm),
    ...(vm.host === undefined ? {} : { host: name(vm.host) }),
    ...(vm.cluster === undefined ? {} : { cluster: name(vm.cluster) }),
    ...(vm.datacenter === undefined ? {} : { datacenter: name(vm.datacenter) }),
    ...(vm.ancestry === undefined ? {} : { parents: parentsOf(vm.ancestry) }),
  }
}

function groupOf(vm: VirtualMachine): Pick<BoundVM, 'group'> {
  const { instanceUUIDs = [] } = faultToleranceGroup(vm) ?? {}
  return instanceUUIDs.length === 0
    ? {}
    : { group: instanceUUIDs.slice(0, MAX_GROUP).map((id) => printable(id, MAX_ID)) }
}

function parentsOf(ancestry: Ancestry): ParentObject[] {
  return bindingParents(ancestry).map(({ type, moref, name }) => ({
    type: printable(type, MAX_ID),
    moref: printable(moref, MAX_ID),
    name: printable(name, MAX_NAME),
  }))
}

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
