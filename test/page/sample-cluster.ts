import { fail, fine, type Line, skip, warn } from '../../agent/shared/diagnosis.ts'
import type { NodeStatus } from '../../controller/inspect/status/node-status.ts'
import { type ClusterStatus, inOrder } from '../../controller/inspect/status/print-status.ts'

/** What is wrong with some of them, the first already in a cluster of ten. */
const WRONG: readonly Partial<NodeStatus>[] = [
  {
    state: 'VM off',
    power: 'off',
    ready: 'False',
    pending: {
      condition: 'VMFound',
      reason: 'VMPoweredOff',
      message:
        'VM is powered off: power it on in vCenter, or delete the Node if the VM is not needed any more',
    },
  },
  {
    state: 'waiting',
    level: undefined,
    vCenter: undefined,
    datacenter: undefined,
    cluster: undefined,
    host: undefined,
    vm: undefined,
    power: undefined,
    zone: undefined,
    agentVersion: undefined,
    pending: {
      condition: 'VMFound',
      reason: 'NoReport',
      message:
        'there is no NodeReport with its name: check its agent (DaemonSet or package, docs/install.md)',
    },
  },
  {
    pending: {
      condition: 'TopologyResolved',
      reason: 'TagMissing',
      message:
        'no tag of category k8s-zone is on the VM, its host, cluster or datacenter: assign one in vCenter',
    },
    zone: undefined,
  },
  {
    state: 'VM gone',
    power: undefined,
    ready: 'Unknown',
    brakeEngagedFor: 'vc-main',
    pending: {
      condition: 'DeletionPending',
      reason: 'BrakeEngaged',
      message:
        'its VM is gone, and so are those of 12 other Nodes at once, more than lifecycle.maxAbsentShare allows: delete the Nodes by hand if that is right',
    },
  },
  {
    state: 'VM missing',
    power: undefined,
    ready: 'Unknown',
    pending: {
      condition: 'DeletionPending',
      reason: 'NotConfirmed',
      message: 'no search finds its VM; whether it is gone is being asked',
    },
  },
  {
    state: 'doubted',
    pending: {
      condition: 'IdentityVerified',
      reason: 'MACMismatch',
      message:
        'the report names MAC address 00:50:56:8e:12:34, and none of the VM has it: look at the VM in vCenter',
    },
  },
  {
    level: 'reported',
    pending: {
      condition: 'AgentReports',
      reason: 'AgentSilent',
      message: 'its agent has not reported for 22m: look at the log of rollcall-agent there',
    },
  },
  { state: 'unmanaged', level: undefined, power: undefined },
]

/** All that the page of `status` says of a cluster of so many Nodes, one in 25 of them not well: made up, and always the same. */
export function sampleCluster(size: number): {
  readonly status: ClusterStatus
  readonly checks: readonly Line[]
} {
  const perHost = size <= 10 ? 3 : 8
  const hostsPerCluster = size <= 10 ? 2 : 12
  const nodes = Array.from({ length: size }, (_, index): NodeStatus => {
    const host = Math.floor(index / perHost)
    const cluster = Math.floor(host / hostsPerCluster)
    const vCenter = cluster % 4 === 3 ? 'vc-edge' : 'vc-main'
    const role = index < 3 ? 'control-plane' : 'worker'
    const name = `${role}-${index + 1}`
    const wrong =
      size <= 10 ? WRONG[index - 7] : index % 25 === 24 ? WRONG[Math.floor(index / 25) % WRONG.length] : {}
    return {
      name,
      state: 'initialized',
      pending: undefined,
      level: 'proven',
      vCenter,
      datacenter: vCenter === 'vc-main' ? 'Frankfurt' : 'Hamburg',
      cluster: `compute-${cluster + 1}`,
      host: `esx-${String(host + 1).padStart(3, '0')}.example.com`,
      vm: index % 5 === 0 ? `k8s-prod-${name}` : name,
      power: 'on',
      zone: `zone-${'abc'[cluster % 3]}`,
      region: 'eu',
      ready: 'True',
      agentVersion: '0.1.0',
      brakeEngagedFor: undefined,
      ...wrong,
    }
  })
  return {
    status: {
      leader: 'rollcall-controller-7c9f_1a2b3c4d leads, and holds the Lease kube-system/rollcall-controller',
      leads: true,
      troubles: {
        at: '2026-03-01T10:03:14Z',
        troubles:
          size > 10
            ? [
                {
                  key: 'vc-edge',
                  message: 'vCenter vc-edge: Unreachable: connect ETIMEDOUT 192.0.2.20:443',
                  since: '2026-03-01T09:58:12Z',
                },
              ]
            : [],
      },
      nodes: inOrder(nodes),
      of: nodes.length,
      unknown: [],
      notes: [],
    },
    checks: [
      {
        check: 'configuration',
        ...fine('Secret kube-system/rollcall-config/vsphere.conf has 2 vCenters (vc-main, vc-edge)'),
      },
      { check: 'vCenter vc-main: DNS', ...fine('resolves to 192.0.2.10') },
      {
        check: 'vCenter vc-main: TLS',
        ...warn(
          'the certificate is trusted and valid for this name, but expires in 12 days; renew it in vCenter',
        ),
      },
      { check: 'vCenter vc-main: login', ...fine('logged in as k8s@vsphere.local') },
      { check: 'vCenter vc-edge: TCP', ...fail('192.0.2.20:443 does not answer; check the firewall') },
      { check: 'vCenter vc-edge: login', ...skip('not checked, because of "vCenter vc-edge: TCP"') },
      { check: 'CRD', ...fine('rollcall.dev/v1alpha1 is served, and has all fields') },
    ],
  }
}
