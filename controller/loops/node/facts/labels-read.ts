import type { DecisionConfig } from '../../../config/config.ts'
import {
  BETA_LABELS,
  csiTopologyLabel,
  LABEL_CONTROL_PLANE,
  LABEL_IDENTITY_LEVEL,
  LABEL_INSTANCE_TYPE,
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
}: Pick<DecisionConfig, 'labels' | 'identity' | 'initialization'>): ReadonlySet<string> {
  const categories = [zone, region].filter((category) => category !== undefined)
  return new Set([
    ...TOPOLOGY_LABELS,
    LABEL_INSTANCE_TYPE,
    BETA_LABELS[LABEL_INSTANCE_TYPE] ?? LABEL_INSTANCE_TYPE,
    LABEL_IDENTITY_LEVEL,
    LABEL_CONTROL_PLANE,
    ...categories.map(csiTopologyLabel),
    ...(exempt?.requirements ?? []).map(({ key }) => key),
    ...Object.keys(initialization.labels),
  ])
}
