import type { Node } from '../types/node.ts'
import { TAINT_UNINITIALIZED } from './well-known.ts'

/** Whether the Node asks for a cloud provider, which nothing is scheduled to meanwhile. */
export function hasUninitializedTaint(node: Pick<Node, 'taints'>): boolean {
  return node.taints.some(({ key }) => key === TAINT_UNINITIALIZED)
}

/**
 * Whether no cloud provider has finished with the Node. One without the taint may never have had it: a kubelet that
 * does not run with `--cloud-provider=external`, or one that would not wait.
 */
export function isUninitialized(node: Pick<Node, 'taints' | 'providerID'>): boolean {
  return hasUninitializedTaint(node) || node.providerID === undefined
}
