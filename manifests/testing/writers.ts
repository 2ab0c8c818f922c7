import type { ApiClient } from '../../test/servers/api-client.ts'
import type { Cluster } from '../../test/servers/cluster.ts'

/** A way to send requests as someone. */
export type Sender = ApiClient['request']

interface Created {
  message?: string
  metadata: { name: string; uid: string }
}

/** Registers a Node with its kubelet's own credential, as a kubelet of an external cloud provider does; its UID. */
export async function registerNode(
  kubelet: Sender,
  name: string,
  labels: Record<string, string> = {},
): Promise<string> {
  const { metadata } = await created(kubelet, '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels },
    },
    spec: {
      taints: [
        { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' },
      ],
    },
  })
  return metadata.uid
}

/** A token of a service account in kube-system that is bound to nothing. */
export async function token(cluster: Cluster, account: string, boundObjectRef?: object): Promise<string> {
  const { body } = await cluster.request<{ status: { token: string } }>(
    'POST',
    `/api/v1/namespaces/kube-system/serviceaccounts/${account}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { expirationSeconds: 3600, ...(boundObjectRef ? { boundObjectRef } : {}) },
    },
  )
  return body.status.token
}

/** The token that a projected volume of a Pod on this node has. */
export async function boundToken(cluster: Cluster, account: string, node: string): Promise<string> {
  await ensureAccount(cluster, account)
  const { metadata } = await created(cluster.request, '/api/v1/namespaces/kube-system/pods', {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: `${account}-` },
    spec: {
      nodeName: node,
      serviceAccountName: account,
      containers: [{ name: 'agent', image: 'rollcall-agent:0.1.0' }],
    },
  })
  return token(cluster, account, { apiVersion: 'v1', kind: 'Pod', ...metadata })
}

/** Without controllers, nobody makes the account "default". */
async function ensureAccount(cluster: Cluster, name: string): Promise<void> {
  await cluster.request('POST', '/api/v1/namespaces/kube-system/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name },
  })
}

/** Gives all rights, so that only admission can refuse. */
export async function bindToEverything(
  cluster: Cluster,
  subjects: { kind: string; name: string; namespace?: string }[],
): Promise<void> {
  await created(cluster.request, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'everything' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: subjects.map((subject) =>
      subject.namespace ? subject : { ...subject, apiGroup: 'rbac.authorization.k8s.io' },
    ),
  })
}

async function created(send: Sender, path: string, object: unknown): Promise<Created> {
  const { status, body } = await send<Created>('POST', path, object)
  if (status !== 201) throw new Error(`creating at ${path} is answered with ${status}: ${body.message}`)
  return body
}
