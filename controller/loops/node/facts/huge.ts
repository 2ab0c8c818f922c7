import type { Node } from '../../../types/node.ts'

/** A Node has some fifty labels and a few taints. Beyond these, what a write of it costs the API server is its size. */
const MANY_LABELS = 1_000
const MANY_TAINTS = 100

/** Whether a Node is so large that its writes are slow. A kubelet may give its own Node as many labels as etcd takes. */
export function isHuge({ labelCount, taints }: Pick<Node, 'labelCount' | 'taints'>): boolean {
  return labelCount > MANY_LABELS || taints.length > MANY_TAINTS
}
