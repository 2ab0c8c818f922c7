import type { DecisionConfig } from '../../../config/config.ts'
import type { Node } from '../../../types/node.ts'
import {
  BETA_LABELS,
  csiTopologyLabel,
  LABEL_CONTROL_PLANE,
  LABEL_IDENTITY_LEVEL,
  LABEL_INSTANCE_TYPE,
  LABEL_OS,
  TOPOLOGY_LABELS,
} from '../../../types/well-known.ts'

/**
 * The labels of a Node that a decision by these settings may depend on. A kubelet may give its own Node a megabyte of others,
 * which a leader would keep for each such Node.
 */
export function labelsRead({
  labels: { zone, region },
  identity: { exempt },
  initialization,
  labelRules,
}: Pick<DecisionConfig, 'labels' | 'identity' | 'initialization' | 'labelRules'>): ReadonlySet<string> {
  const categories = [zone, region].filter((category) => category !== undefined)
  return new Set([
    ...TOPOLOGY_LABELS,
    LABEL_INSTANCE_TYPE,
    BETA_LABELS[LABEL_INSTANCE_TYPE] ?? LABEL_INSTANCE_TYPE,
    LABEL_IDENTITY_LEVEL,
    LABEL_CONTROL_PLANE,
    LABEL_OS,
    ...categories.map(csiTopologyLabel),
    ...(exempt?.requirements ?? []).map(({ key }) => key),
    ...Object.keys(initialization.labels),
    ...labelRules.map(({ label }) => label),
  ])
}

/** A Node has some fifty labels and a few taints. Beyond these, what a write of it costs the API server is its size. */
const MANY_LABELS = 1_000
const MANY_TAINTS = 100

/** Whether a Node is so large that its writes are slow. A kubelet may give its own Node as many labels as etcd takes. */
export function isHuge({ labelCount, taints }: Pick<Node, 'labelCount' | 'taints'>): boolean {
  return labelCount > MANY_LABELS || taints.length > MANY_TAINTS
}
