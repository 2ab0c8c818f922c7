import type { NodeReportSpec } from '../../agent/contract.ts'
import type { Node } from '../types/node.ts'
import { canonicalUUID } from './uuid.ts'

/** Tells a report that this controller made from an agent's. */
export function isAgentless({ claim }: Pick<NodeReportSpec, 'claim'>): boolean {
  return !claim.written && claim.reason === NO_AGENT
}

const NO_AGENT = 'NoAgent'

/**
 * The report of a Node for which no agent speaks: it says nothing that would verify anything, and is there to have a place
 * for the conditions. An agent that comes later takes it over.
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
