import type { Node, Taint } from '../../../types/node.ts'
import { TAINT_UNINITIALIZED } from '../../../types/well-known.ts'

/** Whether the Node waits for a cloud provider; nothing is scheduled to it until then. */
export function hasUninitializedTaint(node: Pick<Node, 'taints'>): boolean {
  return node.taints.some(({ key }) => key === TAINT_UNINITIALIZED)
}

export function withoutUninitializedTaint(taints: readonly Taint[]): readonly Taint[] {
  return taints.filter(({ key }) => key !== TAINT_UNINITIALIZED)
}

/**
 * Whether no cloud provider has initialized the Node yet. A Node without the taint may never have had it: its kubelet does
 * not run with `--cloud-provider=external`, or did not wait.
 */
export function needsInitialization(node: Pick<Node, 'taints' | 'providerID'>): boolean {
  return hasUninitializedTaint(node) || node.providerID === undefined
}
