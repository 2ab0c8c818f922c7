import type { Node } from '../../../types/node.ts'

/** Whether a person allows the deletion although the brake is engaged. */
export function mayProceed({ deletionAnnotation }: Pick<Node, 'deletionAnnotation'>): boolean {
  return deletionAnnotation === 'proceed'
}

/**
 * What a deletion waits for that somebody has already asked for, and the next step: deleting the Node again changes nothing.
 * Undefined where the Node is not being deleted.
 */
export function deletionHangs({
  name,
  deletingSince,
  finalizers,
}: Pick<Node, 'name' | 'deletingSince' | 'finalizers'>): string | undefined {
  if (deletingSince === undefined) return undefined
  const since = `deletion of Node ${name} was requested at ${deletingSince}`
  if (finalizers.length === 0) return since
  const [are, their] = finalizers.length === 1 ? ['its finalizer', 'its'] : ['its finalizers', 'their']
  const list = finalizers.join(', ')
  return `${since}, but ${are} ${list} ${finalizers.length === 1 ? 'is' : 'are'} not removed; if ${their} controller is gone: kubectl patch node ${name} --type=merge -p '{"metadata":{"finalizers":null}}'`
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
