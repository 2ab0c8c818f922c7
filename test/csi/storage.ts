/** What others do between a claim and the driver: the kubelet and external-provisioner. */
import { kubeletIdentity, type RegisteredNode } from '../fixtures/kubelet.ts'
import type { Cluster } from '../servers/cluster.ts'
import { type createVolume, DRIVER, type NodeInfo } from './driver.ts'

type Labels = Readonly<Record<string, string>>

/**
 * Writes down what the driver said of a Node, with a kubelet's credential (`updateNode` in its nodeinfomanager.go): the
 * topology as labels, unless the Node has one of another value, then the CSINode.
 */
export async function registerDriver(
  cluster: Cluster,
  { name, uid }: Pick<RegisteredNode, 'name' | 'uid'>,
  { nodeId, accessibleTopology: { segments } }: NodeInfo,
): Promise<void> {
  const kubelet = await cluster.as(kubeletIdentity(name))
  const request = async (method: string, path: string, body?: object, contentType?: string) => {
    const answer = await kubelet.request<{ message?: string; metadata: { labels: Labels } }>(
      method,
      path,
      body,
      contentType === undefined ? {} : { contentType },
    )
    if (answer.status > 201) throw new Error(`${path} answers ${answer.status}: ${answer.body.message}`)
    return answer.body
  }
  try {
    const { labels } = (await request('GET', `/api/v1/nodes/${name}`)).metadata
    for (const [key, value] of Object.entries(segments)) {
      if (labels[key] !== undefined && labels[key] !== value)
        throw new Error(`detected topology value collision: ${key} is ${labels[key]}, driver: ${value}`)
    }
    const patch = { metadata: { labels: segments } }
    await request('PATCH', `/api/v1/nodes/${name}`, patch, 'application/merge-patch+json')
    const path = '/apis/storage.k8s.io/v1/csinodes'
    const csiNode = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
      spec: { drivers: [{ name: DRIVER, nodeID: nodeId, topologyKeys: Object.keys(segments) }] },
    }
    const apply = `${path}/${name}?fieldManager=kubelet&force=true`
    await request('PATCH', apply, csiNode, 'application/apply-patch+yaml')
  } finally {
    await kubelet.close()
  }
}

/** Takes back the CSINode alone, as the kubelet does when a plugin's socket is gone; labels stay. */
export async function unregisterDriver(cluster: Cluster, node: string): Promise<void> {
  await remove(cluster, `/apis/storage.k8s.io/v1/csinodes/${node}`)
}

/** Deletes what the driver has written down of a Node's topology. */
export async function forgetTopology(cluster: Cluster, node: string): Promise<void> {
  await remove(cluster, `/apis/cns.vmware.com/v1alpha1/csinodetopologies/${node}`)
}

async function remove(cluster: Cluster, path: string): Promise<void> {
  const { status, body } = await cluster.request<{ message?: string }>('DELETE', path)
  if (status !== 200) throw new Error(`${path} answers ${status}: ${body.message}`)
}

/** Deletes a label of a Node. */
export async function forgetLabel(cluster: Cluster, node: string, label: string): Promise<void> {
  const path = `/api/v1/nodes/${node}`
  const patch = { metadata: { labels: { [label]: null } } }
  const contentType = 'application/merge-patch+json'
  const { status, body } = await cluster.request<{ message?: string }>('PATCH', path, patch, { contentType })
  if (status !== 200) throw new Error(`${path} answers ${status}: ${body.message}`)
}

export interface Claim {
  /** Of the claim, its class and its pod. */
  readonly name: string
  readonly allowed: Labels
  readonly datastoreURL: string
  /** The pod's. */
  readonly nodeSelector: Labels
}

/** Makes a class with WaitForFirstConsumer, a claim of it, and a pod that waits for it. */
export async function claimVolume(cluster: Cluster, { name, ...claim }: Claim): Promise<void> {
  await create(cluster, '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name },
    provisioner: DRIVER,
    parameters: { datastoreurl: claim.datastoreURL },
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: [
      {
        matchLabelExpressions: Object.entries(claim.allowed).map(([key, value]) => ({
          key,
          values: [value],
        })),
      },
    ],
  })
  await create(cluster, '/api/v1/namespaces/default/persistentvolumeclaims', {
    metadata: { name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: name,
      resources: { requests: { storage: '1Gi' } },
    },
  })
  await create(cluster, '/api/v1/namespaces/default/pods', {
    metadata: { name },
    spec: {
      nodeSelector: claim.nodeSelector,
      // No controller takes away what the API server gives each new Node.
      tolerations: [{ key: 'node.kubernetes.io/not-ready', operator: 'Exists' }],
      containers: [{ name: 'main', image: 'none' }],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
    },
  })
}

/** The Node that the scheduler has chosen for a claim; undefined before it has. */
export async function selectedNode(cluster: Cluster, name: string): Promise<string | undefined> {
  return (await readClaim(cluster, name)).annotations?.['volume.kubernetes.io/selected-node']
}

async function readClaim(cluster: Cluster, name: string) {
  const path = `/api/v1/namespaces/default/persistentvolumeclaims/${name}`
  const { body } = await cluster.request<{ metadata: { uid: string; annotations?: Labels } }>('GET', path)
  return body.metadata
}

/** Where a pod is, or why the scheduler has found no Node for it; undefined before it has looked. */
export async function placed(cluster: Cluster, name: string): Promise<string | undefined> {
  const { body } = await cluster.request<{
    spec: { nodeName?: string }
    status: { conditions?: { type: string; reason?: string }[] }
  }>('GET', `/api/v1/namespaces/default/pods/${name}`)
  const scheduled = body.status.conditions?.find(({ type }) => type === 'PodScheduled')
  return body.spec.nodeName ?? scheduled?.reason
}

/**
 * What external-provisioner asks of the driver once the scheduler has chosen a Node (`GenerateAccessibilityRequirements`
 * with `--strict-topology`, as in the driver's manifests): the Node's labels under the driver's keys.
 */
export async function topologyOf(cluster: Cluster, node: string): Promise<Labels> {
  const csiNode = await cluster.request<{ spec: { drivers: { topologyKeys: string[] }[] } }>(
    'GET',
    `/apis/storage.k8s.io/v1/csinodes/${node}`,
  )
  const { body } = await cluster.request<{ metadata: { labels: Labels } }>('GET', `/api/v1/nodes/${node}`)
  const keys = csiNode.body.spec.drivers.flatMap(({ topologyKeys }) => topologyKeys)
  return Object.fromEntries(keys.map((key) => [key, body.metadata.labels[key] ?? '']))
}

/** Makes the PersistentVolume of a volume, as external-provisioner does. */
export async function publishVolume(
  cluster: Cluster,
  name: string,
  { volumeId, accessibleTopology }: Awaited<ReturnType<typeof createVolume>>,
): Promise<void> {
  const { uid } = await readClaim(cluster, name)
  await create(cluster, '/api/v1/persistentvolumes', {
    metadata: { name: `pv-${name}`, annotations: { 'pv.kubernetes.io/provisioned-by': DRIVER } },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: name,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name, uid },
      csi: { driver: DRIVER, volumeHandle: volumeId },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: accessibleTopology.map(({ segments }) => ({
            matchExpressions: Object.entries(segments).map(([key, value]) => ({
              key,
              operator: 'In',
              values: [value],
            })),
          })),
        },
      },
    },
  })
}

async function create(cluster: Cluster, path: string, object: object): Promise<void> {
  const { status, body } = await cluster.request<{ message?: string }>('POST', path, object)
  if (status !== 201) throw new Error(`${path} answers ${status}: ${body.message}`)
}
