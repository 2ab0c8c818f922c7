import type { BoundVM, NodeReportStatus } from '../../agent/contract.ts'
import type { Node, NodeReport } from '../types/node.ts'
import { faultToleranceGroup, type VirtualMachine } from '../types/virtual-machine.ts'
import type { PreviousReport } from './status.ts'

/** What the report's status says about this very Node; empty where it is about a former Node of the same name. */
export function previousStatus(report: NodeReport | undefined, node: Pick<Node, 'uid'>): NodeReportStatus {
  return report?.status.nodeUID === node.uid ? report.status : {}
}

/** The previous status, with the object that it is about. */
export function previousOf(report: NodeReport, node: Pick<Node, 'uid'>): PreviousReport {
  return { status: previousStatus(report, node), nodeUID: node.uid, generation: report.generation }
}

/**
 * The VM that a Node is verified to be. A binding that was left behind by a refusal gives no right to the VM: otherwise a
 * forger who was bound before the VM itself spoke would keep it.
 */
export function verifiedVM({ vm, identityLevel }: NodeReportStatus): BoundVM | undefined {
  return identityLevel === undefined ? undefined : vm
}

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
