import {
  type BoundVM,
  DEFAULT_REFRESH_SECONDS,
  type NodeReportSpec,
  type NodeReportStatus,
} from '../../../../agent/shared/node-report.ts'
import { canonicalUUID } from '../../../../agent/shared/uuid.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { LABEL_OS } from '../../../types/well-known.ts'

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

/** Whether this controller made the report, not an agent. */
export function isAgentless({ claim }: Pick<NodeReportSpec, 'claim'>): boolean {
  return !claim.written && claim.reason === NO_AGENT
}

/** The version of the agent that made a report; undefined where the controller made it. */
export function agentVersionOf(spec: NodeReportSpec | undefined): string | undefined {
  return spec === undefined || isAgentless(spec) ? undefined : spec.agentVersion
}

/** The time in which an agent sends three reports, milliseconds, including its jitter and time for retries. */
export function silentAfter({
  refreshSeconds = DEFAULT_REFRESH_SECONDS,
}: Pick<NodeReportSpec, 'refreshSeconds'>) {
  return Math.max(refreshSeconds, DEFAULT_REFRESH_SECONDS) * 3_500
}

const NO_AGENT = 'NoAgent'

/**
 * The report of a Node without an agent. It verifies nothing and exists only to carry conditions. An agent that is
 * installed later takes it over.
 */
export function agentlessReport(node: Node): NodeReportSpec {
  const productUUID = canonicalUUID(node.systemUUID)
  return {
    nodeUID: node.uid,
    agentVersion: 'none',
    machine: productUUID === undefined ? {} : { productUUID },
    interfaces: [],
    tools: { guestinfoReadable: false, guestinfoWritable: false },
    claim: { written: false, reason: NO_AGENT, message: 'no agent has reported from this node' },
  }
}

/** Whether no agent can run there; only for what is said, since a kubelet may set the label. */
export function isWindows({ labels }: Pick<Node, 'labels'>): boolean {
  return labels[LABEL_OS] === 'windows'
}

/** The next step where no agent reports from a Node that needs one. */
export function addAgent(node: Pick<Node, 'labels'>): string {
  return isWindows(node)
    ? 'there is no agent for Windows, so exempt the Node ("identity.exempt", docs/configuration.md)'
    : 'run rollcall-agent there (DaemonSet or package, docs/install.md), or exempt the Node if it can run none ("identity.exempt", docs/configuration.md)'
}
