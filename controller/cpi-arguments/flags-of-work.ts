/** Flags about the cloud, the cluster, who leads, and what is done to Nodes. */
import { bool, duration, float, int32, list, opaque, pairs, text } from './kinds.ts'
import { accepted, acceptedWithWarning, refused, served } from './row.ts'

const NO_SERVICES = 'Services of type LoadBalancer are not served here'
const NO_ROUTES = 'routes are not served here'
const BY_PUSH = "changes come by watch and by vCenter's push, nothing is polled by this period"

export const WORK_FLAGS = {
  'cloud-provider': served(
    text,
    'vsphere',
    '`vsphere` alone. `vsphere-paravirtual` is refused: that is for clusters in a Supervisor, where the CPI itself goes on.',
  ),
  'cloud-config': served(
    text,
    '',
    'The path of `vsphere.conf`. Without it the CPI ends with a panic, and Rollcall with an error.',
  ),
  kubeconfig: served(text, '', 'As in the CPI; without it, the service account of the Pod.'),
  master: refused(text, '', 'name the API server in the kubeconfig, and take this out'),
  'allow-untagged-cloud': accepted(bool, 'false', 'vSphere has no cluster ID that could be missing'),
  'cluster-name': accepted(text, 'kubernetes', `it names load balancers, and ${NO_SERVICES}`),
  controllers: served(list, '[*]', 'See [below](#--controllers).'),
  'node-labels': served(pairs, '[]', 'See [below](#--node-labels).'),
  'concurrent-node-syncs': accepted(
    int32,
    '1',
    'sixteen Nodes are looked at side by side, and vCenter is not asked for each',
  ),
  'concurrent-node-status-updates': accepted(int32, '0', 'addresses are written with the rest of each Node'),
  'node-monitor-period': accepted(duration, '5s', BY_PUSH),
  'node-status-update-frequency': accepted(duration, '5m0s', BY_PUSH),
  'node-sync-period': accepted(duration, '0s', 'the CPI passes over it as well'),
  'min-resync-period': accepted(
    duration,
    '12h0m0s',
    'lists are kept current by watches, and read again where one breaks',
  ),
  'controller-start-interval': accepted(duration, '0s', 'all parts start together'),
  'concurrent-service-syncs': accepted(int32, '1', NO_SERVICES),
  'allocate-node-cidrs': accepted(bool, 'false', NO_ROUTES),
  'cluster-cidr': accepted(text, '', NO_ROUTES),
  'cidr-allocator-type': accepted(text, 'RangeAllocator', NO_ROUTES),
  'configure-cloud-routes': accepted(bool, 'true', NO_ROUTES, 'false'),
  'route-reconciliation-period': accepted(duration, '10s', NO_ROUTES),
  'external-cloud-volume-plugin': accepted(text, '', "volumes are the CSI driver's"),
  'use-service-account-credentials': acceptedWithWarning(
    bool,
    'false',
    'one account does all the work, with the rights that the manifests give it',
  ),
  'feature-gates': accepted(opaque('mapStringBool'), '', "they are of the CPI's libraries"),
  'enable-leader-migration': refused(
    bool,
    'false',
    'moving from kube-controller-manager is not served: let the CPI finish it, then start without this',
  ),
  'leader-migration-config': refused(
    text,
    '',
    'moving from kube-controller-manager is not served: let the CPI finish it, then start without this',
  ),
  'leader-elect': served(
    bool,
    'true',
    '`true`. With `false` the Lease is taken all the same: see [below](#--leader-elect).',
  ),
  'leader-elect-lease-duration': served(duration, '15s', 'As in the CPI, at least 1s.'),
  'leader-elect-renew-deadline': served(duration, '10s', 'As in the CPI; shorter than the lease duration.'),
  'leader-elect-retry-period': served(
    duration,
    '2s',
    'As in the CPI; shorter than the renew deadline, by a fifth at least.',
  ),
  'leader-elect-resource-lock': served(text, 'leases', '`leases` alone, as in the CPI.'),
  'leader-elect-resource-name': served(
    text,
    'cloud-controller-manager',
    "Without it, `rollcall-controller`: the default is the CPI's own Lease. See [below](#--leader-elect).",
  ),
  'leader-elect-resource-namespace': served(text, 'kube-system', 'As in the CPI.'),
  'kube-api-qps': served(
    float,
    '20',
    'Requests a second, all but those of the Lease. Without this and `--kube-api-burst` there is no limit: the API server has its own, by priority and fairness. 0 and less mean none; less than 0.01 counts as that.',
  ),
  'kube-api-burst': served(int32, '30', 'So many requests at once, before `--kube-api-qps` counts.'),
  'kube-api-content-type': accepted(text, 'application/vnd.kubernetes.protobuf', 'requests are in JSON'),
  'is-legacy-paravirtual': refused(
    bool,
    'false',
    'it is for vsphere-paravirtual, which is not served: take it out',
  ),
  'enable-vpc-mode': refused(
    bool,
    'false',
    'it is for vsphere-paravirtual, which is not served: take it out',
  ),
  'pod-ip-pool-type': refused(text, '', 'it is for vsphere-paravirtual, which is not served: take it out'),
  'enable-service-annotation-propagation': refused(
    bool,
    'false',
    'it is for vsphere-paravirtual, which is not served: take it out',
  ),
}
