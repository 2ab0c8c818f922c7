import type { DecisionConfig } from '../../config/config.ts'
import { LABEL_REGION, LABEL_ZONE } from '../../node/well-known.ts'
import type { Node } from '../../types/node.ts'
import { type ConditionValue, no } from '../condition-value.ts'

/** The vSphere CSI driver names a label after each category (`TopologyLabelsDomain` in its pkg/csi/service/common). */
const DOMAIN = 'topology.csi.vmware.com'

/**
 * What ends it: the driver's pod says what its CSINodeTopology says, and a kubelet does not register a driver whose topology
 * differs from a label that the Node has (`updateTopologyLabels` in its nodeinfomanager.go). test/csi tries it.
 */
const REMEDY =
  "leave one tag of each category on the VM's way up, drain the Node, delete its CSINodeTopology and those labels of the driver, then restart the driver's pod on it"

/**
 * The condition about zone and region where the labels that the CSI driver's registration has left on the Node differ from
 * those of Kubernetes. A volume's zone is the driver's, a pod's is the label's, so they would miss each other.
 *
 * @param wanted the labels of Kubernetes that this decision writes; the others stay as they are
 * @param resolved what else is to be told about zone and region, which comes first where it is not True
 */
export function compareWithCSI(
  { labels }: Pick<Node, 'labels'>,
  wanted: Readonly<Record<string, string | undefined>>,
  categories: DecisionConfig['labels'],
  resolved: ConditionValue,
): ConditionValue {
  if (resolved.status !== 'True') return resolved
  const different = (['zone', 'region'] as const).flatMap((kind) => {
    const name = kind === 'zone' ? LABEL_ZONE : LABEL_REGION
    const [label, csiLabel] = [wanted[name] ?? labels[name], `${DOMAIN}/${categories[kind]}`]
    const theirs = labels[csiLabel]
    if (label === undefined || theirs === undefined || label === theirs) return []
    return [`label ${csiLabel} is ${theirs}, and ${name} is ${label}`]
  })
  if (different.length === 0) return resolved
  return no(
    'CSITopologyDiffers',
    `${different.join('; ')}: volumes follow the CSI driver, pods the labels of Kubernetes; ${REMEDY}`,
  )
}
