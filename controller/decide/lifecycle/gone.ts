import type { Node, NodeReport } from '../../types/node.ts'
import { type Evidence, lifeSignOf } from './evidence.ts'

/**
 * Whether a Node's machine is gone, as far as one complete proof says so and nothing contradicts it: the Node is not
 * Ready, and neither its kubelet nor its agent has spoken since. That is not enough to delete the Node, but enough to free
 * its addresses for another. A machine that is merely off is still found by its vCenter and keeps them.
 */
export function isGone(node: Node, report: NodeReport | undefined, evidence: Evidence | undefined): boolean {
  if (evidence?.absent === undefined || evidence.request.nodeUID !== node.uid) return false
  if (node.ready?.status === 'True' || evidence.beats) return false
  return evidence.request.lifeSign === lifeSignOf(node, report)
}
