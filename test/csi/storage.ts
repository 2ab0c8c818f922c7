/** What others do between a claim and the driver: external-provisioner and people. */

import { CSI_DRIVER } from '../../controller/types/well-known.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { createVolume } from './driver.ts'

type Labels = Readonly<Record<string, string>>

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

export interface VolumeClaim {
  /** Of the claim, its class and its pod. */
  readonly name: string
  readonly allowed: Labels
  readonly datastoreURL: string
  /** The pod's. */
  readonly nodeSelector: Labels
}

/** Makes a class with WaitForFirstConsumer, a claim of it, and a pod that waits for it. */
export async function claimVolume(cluster: Cluster, { name, ...claim }: VolumeClaim): Promise<void> {
  await create(cluster, '/apis/storage.k8s.io/v1/storageclasses', {
    metadata: { name },
    provisioner: CSI_DRIVER,
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
    metadata: { name: `pv-${name}`, annotations: { 'pv.kubernetes.io/provisioned-by': CSI_DRIVER } },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: name,
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default', name, uid },
      csi: { driver: CSI_DRIVER, volumeHandle: volumeId },
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
