import type { BoundVM, NodeReportSpec, NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import type { Node, NodeReport } from '../../../types/node.ts'

/** What the report's status says about this very Node; empty where it is about a former Node of the same name. */
export function previousStatus(report: NodeReport | undefined, node: Pick<Node, 'uid'>): NodeReportStatus {
  return report?.status.nodeUID === node.uid ? report.status : {}
}

/** What the report says about this very Node; undefined where it is invalid, or about a former Node of the same name. */
export function specOf(report: NodeReport | undefined, node: Pick<Node, 'uid'>): NodeReportSpec | undefined {
  return report?.spec.ok === true && report.spec.value.nodeUID === node.uid ? report.spec.value : undefined
}

/**
 * The VM that a Node is verified to be. A binding that was left behind by a refusal gives no right to the VM: otherwise a
 * forger who was bound before the VM itself spoke would keep it.
 */
export function verifiedVM({ vm, identityLevel }: NodeReportStatus): BoundVM | undefined {
  return identityLevel === undefined ? undefined : vm
}
