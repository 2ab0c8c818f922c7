import type { PlainApiClient } from '../../test/servers/api-client.ts'
import type { Cluster } from '../../test/servers/cluster.ts'
import type { SendRequest } from './writers.ts'

export const zone = 'topology.kubernetes.io/zone'
export const betaZone = 'failure-domain.beta.kubernetes.io/zone'

/** The labels that the controller writes of what it verified. */
export const verifiedLabels: Record<string, string> = {
  [zone]: 'zone-a',
  [betaZone]: 'zone-a',
  'topology.kubernetes.io/region': 'region-1',
  'failure-domain.beta.kubernetes.io/region': 'region-1',
  'node.kubernetes.io/instance-type': 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
  'beta.kubernetes.io/instance-type': 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
}

/** Whoever it is, a kubelet or the administrator of the cluster itself. */
export interface Requester {
  request: SendRequest
}

interface Node {
  metadata: { labels?: Record<string, string> }
  status: { addresses?: { type: string; address: string }[] }
}

/** With the certificate of this Node's kubelet. */
export const kubeletOf = (cluster: Cluster, name: string): Promise<PlainApiClient> =>
  cluster.as({ user: `system:node:${name}`, groups: ['system:nodes'] })

/** Patches a Node, or its status where the path says so. */
export async function patchNode(
  who: Requester,
  path: string,
  body: unknown,
  contentType = 'application/strategic-merge-patch+json',
) {
  const answer = await who.request<{ message?: string }>('PATCH', `/api/v1/nodes/${path}`, body, {
    contentType,
  })
  return { status: answer.status, message: String(answer.body.message) }
}

export const labelNode = (who: Requester, path: string, labels: Record<string, string | null>) =>
  patchNode(who, path, { metadata: { labels } })

export async function labelsOf(cluster: Cluster, name: string): Promise<Record<string, string>> {
  const { body } = await cluster.request<Node>('GET', `/api/v1/nodes/${name}`)
  return body.metadata.labels ?? {}
}

/** What a kubelet writes every few minutes, and at once when something has changed. */
export function heartbeat(who: Requester, name: string) {
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'ready',
    lastHeartbeatTime: new Date(),
  }
  return patchNode(who, `${name}/status`, { status: { conditions: [ready] } })
}

/**
 * What a kubelet does at its start where its Node exists (`tryRegisterWithAPIServer` in its kubelet_node_status.go): it
 * tries to create the Node, reads it, and makes the labels it was told of its own by one strategic merge patch of the
 * status. Resolves with whether it counts itself registered; else it would begin anew, forever.
 */
export async function registerAgain(
  kubelet: Requester,
  name: string,
  nodeLabels: Record<string, string>,
): Promise<boolean> {
  const labels = { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...nodeLabels }
  const created = await kubelet.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels },
  })
  if (created.status !== 409) throw new Error(`Node ${name} was created with ${created.status}`)
  const { body } = await kubelet.request<Node>('GET', `/api/v1/nodes/${name}`)
  // Of the labels it was told only those that it knows (updateDefaultLabels).
  const known = [
    ...Object.keys(verifiedLabels),
    'kubernetes.io/hostname',
    'kubernetes.io/os',
    'kubernetes.io/arch',
  ]
  const changed = Object.entries(labels).filter(
    ([key, value]) => known.includes(key) && body.metadata.labels?.[key] !== value,
  )
  if (changed.length === 0) return true
  const { status } = await labelNode(kubelet, `${name}/status`, Object.fromEntries(changed))
  return status === 200
}

/** What the controller writes once the VM is verified. */
export async function initialize(
  controller: Requester,
  name: string,
  labels: Record<string, string> = verifiedLabels,
): Promise<void> {
  const merge = 'application/merge-patch+json'
  const nodes = await controller.request<{ items: { spec: { taints?: { key: string }[] } }[] }>(
    'GET',
    `/api/v1/nodes?fieldSelector=metadata.name=${name}`,
  )
  const taints = nodes.body.items
    .flatMap(({ spec }) => spec.taints ?? [])
    .filter(({ key }) => key !== 'node.cloudprovider.kubernetes.io/uninitialized')
  const body = { metadata: { labels }, spec: { providerID: `vsphere://${name}`, taints } }
  // Two of one type, as on a Node of two address families.
  const addresses = ['10.0.0.5', 'fd00::5'].map((address) => ({ type: 'InternalIP', address }))
  for (const answer of [
    await patchNode(controller, name, body, merge),
    await patchNode(controller, `${name}/status`, { status: { addresses } }, merge),
  ]) {
    if (answer.status !== 200) throw new Error(answer.message)
  }
}
