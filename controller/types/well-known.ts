/** The names of labels, taints, drivers and provider IDs. */

/** Set by a kubelet with `--cloud-provider=external`; removed by the cloud provider (KEP-2392). */
export const TAINT_UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized'

/** Keeps pods away from a Node whose machine is off (k8s.io/cloud-provider, node lifecycle controller). */
export const TAINT_SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown'

/** Lets volumes be detached from a Node that is off for good, and its pods be deleted (KEP-2268). */
export const TAINT_OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'

/** The kubelet's own; `windows` has no agent. */
export const LABEL_OS = 'kubernetes.io/os'

/** kubeadm's label, and that of every distribution since. */
export const LABEL_CONTROL_PLANE = 'node-role.kubernetes.io/control-plane'

export const LABEL_ZONE = 'topology.kubernetes.io/zone'
export const LABEL_REGION = 'topology.kubernetes.io/region'
export const LABEL_INSTANCE_TYPE = 'node.kubernetes.io/instance-type'

/** Each label and the beta name under which older workloads still look for it. */
export const BETA_LABELS: Readonly<Record<string, string>> = {
  [LABEL_ZONE]: 'failure-domain.beta.kubernetes.io/zone',
  [LABEL_REGION]: 'failure-domain.beta.kubernetes.io/region',
  [LABEL_INSTANCE_TYPE]: 'beta.kubernetes.io/instance-type',
}

/** Zone and region under all their names. */
export const TOPOLOGY_LABELS: readonly string[] = [LABEL_ZONE, LABEL_REGION].flatMap((label) => [
  label,
  BETA_LABELS[label] ?? label,
])

/** The vSphere CSI driver names a label after each category (`TopologyLabelsDomain` in its pkg/csi/service/common). */
export function csiTopologyLabel(category: string): string {
  return `topology.csi.vmware.com/${category}`
}

/** How the vSphere CSI driver is registered with kubelets. */
export const CSI_DRIVER = 'csi.vsphere.vmware.com'

/** A kubelet that has both `--node-ip` and an external cloud provider writes this annotation. */
export const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip'

/** Rollcall's own prefix of labels. No kubelet can write under it: the plugin NodeRestriction guards it. */
export const OWN_PREFIX = 'rollcall.node-restriction.kubernetes.io/'

/** By it people say on which Nodes the controller runs where the control plane has none (`hosted-control-plane`). */
export const CONTROLLER_LABEL = `${OWN_PREFIX}controller`

/** How strongly the VM behind a Node is known. */
export const LABEL_IDENTITY_LEVEL = `${OWN_PREFIX}identity-level`

/** The scheme that the CPI and the in-tree provider before it use. */
export const PROVIDER_SCHEME = 'vsphere://'
