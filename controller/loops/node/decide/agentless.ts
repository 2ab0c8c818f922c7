import type { NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import type { Node } from '../../../types/node.ts'
import { canonicalUUID } from '../../../types/uuid.ts'

/** Whether this controller made the report, not an agent. */
export function isAgentless({ claim }: Pick<NodeReportSpec, 'claim'>): boolean {
  return !claim.written && claim.reason === NO_AGENT
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
