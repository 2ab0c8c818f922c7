/** Flags for the cloud, the cluster, leader election, and the handling of Nodes. */
import { bool, duration, float, int32, list, opaque, pairs, text } from './kinds.ts'
import { accepted, acceptedWithWarning, refused, supported } from './row.ts'

const NO_SERVICES = 'Services of type LoadBalancer are not supported'
const NO_ROUTES = 'routes are not supported'
const BY_PUSH = "changes come by watch and by vCenter's push; nothing is polled at this interval"

export const WORK_FLAGS = {
  'cloud-provider': supported(
    text,
    'vsphere',
    'Only `vsphere`. `vsphere-paravirtual` is refused: it is for clusters in a Supervisor, which keep the CPI.',
  ),
  'cloud-config': supported(
    text,
    '',
    'The path of `vsphere.conf`. Without it the CPI panics, and Rollcall exits with an error.',
  ),
  kubeconfig: supported(text, '', "As in the CPI; by default the Pod's service account."),
  master: refused(text, '', 'name the API server in the kubeconfig, and remove this flag'),
  'allow-untagged-cloud': accepted(bool, 'false', 'vSphere has no cluster IDs that could be missing'),
  'cluster-name': accepted(text, 'kubernetes', `it names load balancers, and ${NO_SERVICES}`),
  controllers: supported(list, '[*]', 'See [below](#--controllers).'),
  'node-labels': supported(pairs, '[]', 'See [below](#--node-labels).'),
  'concurrent-node-syncs': accepted(
    int32,
    '1',
    'sixteen Nodes are reconciled in parallel, and vCenter is not asked for each',
  ),
  'concurrent-node-status-updates': accepted(int32, '0', 'addresses are written with the rest of each Node'),
  'node-monitor-period': accepted(duration, '5s', BY_PUSH),
  'node-status-update-frequency': accepted(duration, '5m0s', BY_PUSH),
  'node-sync-period': accepted(duration, '0s', 'the CPI ignores it as well'),
  'min-resync-period': accepted(
    duration,
    '12h0m0s',
    'lists are kept current by watches, and read again when a watch breaks',
  ),
  'controller-start-interval': accepted(duration, '0s', 'all parts start together'),
  'concurrent-service-syncs': accepted(int32, '1', NO_SERVICES),
  'allocate-node-cidrs': accepted(bool, 'false', NO_ROUTES),
  'cluster-cidr': accepted(text, '', NO_ROUTES),
  'cidr-allocator-type': accepted(text, 'RangeAllocator', NO_ROUTES),
  'configure-cloud-routes': accepted(bool, 'true', NO_ROUTES, 'false'),
  'route-reconciliation-period': accepted(duration, '10s', NO_ROUTES),
  'external-cloud-volume-plugin': accepted(text, '', 'volumes are left to the CSI driver'),
  'use-service-account-credentials': acceptedWithWarning(
    bool,
    'false',
    'one account does all the work, with the rights that the manifests grant',
  ),
  'feature-gates': accepted(
    opaque('mapStringBool'),
    '',
    "the feature gates are those of the CPI's libraries",
  ),
  'enable-leader-migration': refused(
    bool,
    'false',
    'migration from kube-controller-manager is not supported: let the CPI finish it, then start without this flag',
  ),
  'leader-migration-config': refused(
    text,
    '',
    'migration from kube-controller-manager is not supported: let the CPI finish it, then start without this flag',
  ),
  'leader-elect': supported(
    bool,
    'true',
    '`true`. With `false` the Lease is still taken: see [below](#--leader-elect).',
  ),
  'leader-elect-lease-duration': supported(duration, '15s', 'As in the CPI; at least 1s.'),
  'leader-elect-renew-deadline': supported(
    duration,
    '10s',
    'As in the CPI; shorter than the lease duration.',
  ),
  'leader-elect-retry-period': supported(
    duration,
    '2s',
    'As in the CPI; the renew deadline must be more than 1.2 times as long.',
  ),
  'leader-elect-resource-lock': supported(text, 'leases', 'Only `leases`, as in the CPI.'),
  'leader-elect-resource-name': supported(
    text,
    'cloud-controller-manager',
    "By default `rollcall-controller`, because the CPI's default is its own Lease. See [below](#--leader-elect).",
  ),
  'leader-elect-resource-namespace': supported(text, 'kube-system', 'As in the CPI.'),
  'kube-api-qps': supported(
    float,
    '20',
    'Requests a second, except those for the Lease. Without this flag and `--kube-api-burst` there is no limit: the API server has its own, priority and fairness. 0 or less means no limit; values below 0.01 count as 0.01.',
  ),
  'kube-api-burst': supported(
    int32,
    '30',
    'How many requests may be sent at once before `--kube-api-qps` limits them.',
  ),
  'kube-api-content-type': accepted(text, 'application/vnd.kubernetes.protobuf', 'requests are in JSON'),
  'is-legacy-paravirtual': refused(
    bool,
    'false',
    'it is for vsphere-paravirtual, which is not supported: remove this flag',
  ),
  'enable-vpc-mode': refused(
    bool,
    'false',
    'it is for vsphere-paravirtual, which is not supported: remove this flag',
  ),
  'pod-ip-pool-type': refused(
    text,
    '',
    'it is for vsphere-paravirtual, which is not supported: remove this flag',
  ),
  'enable-service-annotation-propagation': refused(
    bool,
    'false',
    'it is for vsphere-paravirtual, which is not supported: remove this flag',
  ),
}
