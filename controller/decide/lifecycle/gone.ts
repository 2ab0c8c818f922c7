import type { Node, NodeReport } from '../../types/node.ts'
import { type Evidence, lifeSignOf } from './evidence.ts'

/**
 * Whether a Node's machine is gone, as far as one whole proof says so and nothing contradicts it: its kubelet does not
 * call it ready, and neither that nor its agent has spoken since. Not enough to delete it; enough that it holds no address
 * against another. A machine that is merely off is found by its vCenter, and stays the holder.
 */
export function isGone(node: Node, report: NodeReport | undefined, evidence: Evidence | undefined): boolean {
  if (evidence?.absent === undefined || evidence.request.nodeUID !== node.uid) return false
  if (node.ready?.status === 'True' || evidence.beats) return false
  return evidence.request.lifeSign === lifeSignOf(node, report)
}
