import type { BoundVM, NodeReportStatus } from '../../agent/contract.ts'
import type { Node, NodeReport } from '../types/node.ts'
import { groupOf, type VirtualMachine } from '../types/virtual-machine.ts'
import type { PreviousReport } from './status.ts'

/** What the report's status says about this very Node; empty where it is about a former Node of the same name. */
export function previousStatus(report: NodeReport | undefined, node: Pick<Node, 'uid'>): NodeReportStatus {
  return report?.status.nodeUID === node.uid ? report.status : {}
}

/** The same, with the object that it is about. */
export function previousOf(report: NodeReport, node: Pick<Node, 'uid'>): PreviousReport {
  return { status: previousStatus(report, node), nodeUID: node.uid, generation: report.generation }
}

/**
 * The VM that a Node is known to be. A binding that a refusal has left behind is a memory, and no claim to the VM: a
 * forger that got as far before the VM itself spoke must not hold it.
 */
export function verifiedVM({ vm, identityLevel }: NodeReportStatus): BoundVM | undefined {
  return identityLevel === undefined ? undefined : vm
}

/**
 * Whether a binding is to this VM, or to another of its Fault Tolerance group: which of them runs what they are changes
 * at a failover, and the machine is the same. The managed object reference changes when a VM is unregistered and registered again,
 * the instance UUID stays (kubernetes/cloud-provider-vsphere#455); each is unique within one vCenter.
 */
export function isBoundTo(bound: BoundVM | undefined, vm: VirtualMachine): boolean {
  if (bound === undefined || bound.vCenterInstanceUUID !== vm.vCenter.instanceUUID) return false
  if (bound.moref === vm.moref) return true
  const { instanceUUID } = bound
  if (instanceUUID === '') return false
  return instanceUUID === vm.instanceUUID || groupOf(vm)?.instanceUUIDs.includes(instanceUUID) === true
}
