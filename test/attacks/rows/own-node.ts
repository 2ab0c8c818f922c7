import { type AttackRow, NOTHING, theme } from './row.ts'

const STANDS = 'keeps what was verified'

function kubelet(tried: string, refusedBy: AttackRow['refusedBy'], seen: string, victim = STANDS): AttackRow {
  return { credential: 'kubelet', tried, refusedBy, seen, victim }
}

/** A kubelet that would be elsewhere, or more, than it is; workloads are the victim. */
export const ownNode = theme('Changing what was verified about its own Node', {
  labels: kubelet(
    'change zone, region and instance type, in both forms',
    'policy restore-labels',
    'the labels as they were, in the answer',
  ),
  'at registration': kubelet(
    '--node-labels with another zone, at registration',
    'controller',
    'LabelOverridden',
    "vCenter's labels win",
  ),
  'provider ID': kubelet(
    "the victim's provider ID, once initialized",
    'API server',
    'spec.providerID: Invalid value: null: field cannot be modified once set',
  ),
  taint: kubelet(
    'remove the taint, before it is initialized',
    'NodeRestriction',
    'is not allowed to modify taints',
    'it stays tainted',
  ),
  addresses: kubelet(
    "the victim's address in its own status",
    'controller',
    'its own address is back',
    NOTHING,
  ),
  'node IP': kubelet("--node-ip with the victim's address", 'controller', 'ProvidedIPNotOnVM', NOTHING),
  'system UUID': kubelet(
    "the victim's UUID as its systemUUID",
    'nobody needs to',
    'Proven',
    'keeps its own VM',
  ),
  'another Node': kubelet(
    "change the victim's labels, provider ID, status",
    'NodeRestriction',
    'is not allowed to modify node "worker-10"',
    NOTHING,
  ),
  'which VM it is': kubelet(
    'rollcall.dev/vm on its own Node',
    'policy update-node',
    'may not change the annotation rollcall.dev/vm of Node "worker-1"',
  ),
  'which VM it is, at registration': kubelet(
    'rollcall.dev/vm at registration',
    'nobody needs to',
    'Proven',
    'is its own VM',
  ),
  'a label by rule': kubelet(
    'a label that a rule has given its own Node',
    'NodeRestriction',
    'is not allowed to modify labels: rollcall.node-restriction.kubernetes.io/rack',
  ),
  'a label by rule, at registration': kubelet(
    "--node-labels with a rule's label outside node-restriction.kubernetes.io, and a record that it is Rollcall's",
    'controller',
    'LabelNotOurs',
    "its value counts as the kubelet's, for good",
  ),
  'which labels are ours': kubelet(
    'or rollcall.dev/labels',
    'policy update-node',
    'may not change the annotation rollcall.dev/labels of Node "worker-1"',
  ),
  'a tag that is another label': {
    ...kubelet(
      'a tag with a comma and another label in its name',
      'controller',
      'LabelInvalid',
      'the label stays as it is',
    ),
    credential: 'whoever may make tags in vCenter',
  },
  'which VM another is': kubelet(
    "rollcall.dev/vm on the victim's Node",
    'NodeRestriction',
    'is not allowed to modify node "worker-10"',
    NOTHING,
  ),
  'which VM it is, by its agent': {
    ...kubelet('rollcall.dev/vm on either Node', 'RBAC', 'cannot patch resource "nodes', NOTHING),
    credential: 'agent',
  },
  deletion: kubelet(
    "delete the victim's Node, or its own",
    'RBAC',
    'cannot delete resource "nodes"',
    NOTHING,
  ),
})
