import type { BoundVM, ParentObject } from '../../agent/shared/node-report.ts'
import { printable } from '../../agent/shared/printable.ts'
import {
  type Ancestry,
  bindingParents,
  faultToleranceGroup,
  type VirtualMachine,
} from '../types/virtual-machine.ts'

/**
 * Whether a binding is to this VM or to another VM of its Fault Tolerance group, which is the same machine: a failover
 * only changes which of them runs it. The moref changes when a VM is unregistered and registered again, the instance UUID
 * does not (kubernetes/cloud-provider-vsphere#455). Both are unique within one vCenter.
 */
export function isBoundTo(bound: BoundVM | undefined, vm: VirtualMachine): boolean {
  if (bound === undefined || bound.vCenterInstanceUUID !== vm.vCenter.instanceUUID) return false
  if (bound.moref === vm.moref) return true
  const { instanceUUID } = bound
  if (instanceUUID === '') return false
  return (
    instanceUUID === vm.instanceUUID || faultToleranceGroup(vm)?.instanceUUIDs.includes(instanceUUID) === true
  )
}

/** Whether two VMs are of one Fault Tolerance group. */
export function isOfGroup(vm: VirtualMachine, other: VirtualMachine): boolean {
  const { instanceUUID, moref } = other
  if (instanceUUID === undefined || moref === vm.moref) return false
  return faultToleranceGroup(vm)?.instanceUUIDs.includes(instanceUUID) === true
}

/** Whether two bindings are to the same VM. */
export function isSameVM(a: BoundVM, b: BoundVM): boolean {
  if (a.vCenterInstanceUUID !== b.vCenterInstanceUUID) return false
  return a.moref === b.moref || (a.instanceUUID !== '' && a.instanceUUID === b.instanceUUID)
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
    ...(vm.host === undefined ? {} : { host: name(vm.host) }),
    ...(vm.cluster === undefined ? {} : { cluster: name(vm.cluster) }),
    ...(vm.datacenter === undefined ? {} : { datacenter: name(vm.datacenter) }),
    ...(vm.ancestry === undefined ? {} : { parents: parentsOf(vm.ancestry) }),
  }
}

function parentsOf(ancestry: Ancestry): ParentObject[] {
  return bindingParents(ancestry).map(({ type, moref, name }) => ({
    type: printable(type, MAX_ID),
    moref: printable(moref, MAX_ID),
    name: printable(name, MAX_NAME),
  }))
}
