import type { Node } from '../types/node.ts'

/** Whether a person allows the deletion although the brake is engaged. */
export function mayProceed({ deletionAnnotation }: Pick<Node, 'deletionAnnotation'>): boolean {
  return deletionAnnotation === 'proceed'
}

/**
 * Taints by which autoscalers say that they are removing the machine. A kubelet cannot write them once its Node exists
 * (NodeRestriction). A cordon is not among them, because it also precedes maintenance.
 */
const REMOVAL_TAINTS: ReadonlySet<string> = new Set([
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
])

/** Whether a person or an autoscaler has said that the machine is removed on purpose. */
export function isRemovalMeant({
  deletionAnnotation,
  taints,
}: Pick<Node, 'deletionAnnotation' | 'taints'>): boolean {
  return mayProceed({ deletionAnnotation }) || taints.some(({ key }) => REMOVAL_TAINTS.has(key))
}

/** Whether somebody has decided that the Node goes or stays; its absence then says nothing about vCenter's health. */
export function isDecided(node: Pick<Node, 'deletionAnnotation' | 'taints'>): boolean {
  return isRemovalMeant(node) || node.deletionAnnotation !== undefined
}
