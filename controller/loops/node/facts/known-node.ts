import type { BoundVM, NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { type MachineUUID, machinesOf, machineUUID, type NodeMachines } from './machines.ts'
import { previousStatus, verifiedVM } from './previous-status.ts'

/** What follows from a Node and its report alone. */
export interface KnownNode {
  /** What the report's status says about this very Node. */
  readonly previous: NodeReportStatus
  /** The VM that it is verified to be. */
  readonly boundTo: BoundVM | undefined
  /** The BIOS UUIDs by which its VM is searched for. */
  readonly machineUUID: MachineUUID
  /** The machines that must be gone before it may be deleted; undefined where nothing says that it ever had one. */
  readonly machines: NodeMachines | undefined
}

export function knownNode(
  node: Node,
  report: NodeReport | undefined,
  identity: DecisionConfig['identity'],
): KnownNode {
  const previous = previousStatus(report, node)
  return {
    previous,
    boundTo: verifiedVM(previous),
    machineUUID: machineUUID(node, report, identity),
    machines: machinesOf(node, report),
  }
}
