import type { DecisionConfig } from '../../config/config.ts'
import type { Node } from '../../types/node.ts'
import { type ConditionValue, no } from '../condition.ts'
import type { NodeTopology } from './topology.ts'

/** The vSphere CSI driver names a label after each category (`TopologyLabelsDomain` in its pkg/csi/service/common). */
const DOMAIN = 'topology.csi.vmware.com'

/**
 * The condition about zone and region where the labels that the CSI driver's registration has left on the Node say something
 * else. A volume's zone is the driver's, a pod's is the label's, so they would miss each other.
 *
 * @returns the topology's own condition where the two agree, or where it is not True already
 */
export function compareWithCSI(
  { labels }: Pick<Node, 'labels'>,
  topology: NodeTopology,
  categories: DecisionConfig['labels'],
): ConditionValue {
  if (topology.condition.status !== 'True') return topology.condition
  const different = (['zone', 'region'] as const).flatMap((kind) => {
    const [ours, label] = [topology[kind], `${DOMAIN}/${categories[kind]}`]
    const theirs = labels[label]
    if (ours === undefined || theirs === undefined || ours === theirs) return []
    return [`label ${label} is ${theirs}, and the ${kind} by vCenter's tags is ${ours}`]
  })
  if (different.length === 0) return topology.condition
  return no(
    'CSITopologyDiffers',
    `${different.join('; ')}: volumes follow the CSI driver, pods the ${different.length === 1 ? 'label' : 'labels'} of Kubernetes; leave one tag of each category on the VM's way up, then restart the driver's pod on this node`,
  )
}
