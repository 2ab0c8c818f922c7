import { randomUUID } from 'node:crypto'
import { AGENT_FIELD_MANAGER } from '../../agent/shared/node-report.ts'
import { until } from '../../test/fixtures/until.ts'
import type { PlainApiClient } from '../../test/servers/api-client.ts'
import type { Cluster } from '../../test/servers/cluster.ts'

/** A way to send requests as someone. */
export type SendRequest = PlainApiClient['request']

/** Sends with a bearer token and nothing else. */
export function withToken(cluster: Cluster, token: string): SendRequest {
  return (method, path, body, options) => cluster.request(method, path, body, { ...options, token })
}

const collection = '/apis/rollcall.dev/v1alpha1/nodereports'

/** Server-side apply of a report, the only way in which an agent writes. */
export async function applyReport(
  send: SendRequest,
  report: { metadata: { name: string } },
  subresource = '',
) {
  const query = `fieldManager=${AGENT_FIELD_MANAGER}&force=true`
  const path = `${collection}/${report.metadata.name}${subresource}?${query}`
  const { status, body } = await send('PATCH', path, report, { contentType: 'application/apply-patch+yaml' })
  return { status, message: String((body as { message?: string }).message) }
}

interface Created {
  message?: string
  metadata: { name: string; uid: string }
}

/** Registers a Node with its kubelet's own credential, as a kubelet of an external cloud provider does; its UID. */
export async function registerNode(
  kubelet: SendRequest,
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

interface Subject {
  kind: 'User' | 'Group' | 'ServiceAccount'
  name: string
  namespace?: string
}

/** Gives all rights, so that only admission can refuse. Resolves once they act. */
export async function bindToEverything(cluster: Cluster, subjects: readonly Subject[]): Promise<void> {
  const witness = `witness-${randomUUID()}`
  await created(cluster.request, '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { generateName: 'everything-' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [...subjects, { kind: 'User', name: witness } as const].map((subject) =>
      subject.kind === 'ServiceAccount' ? subject : { ...subject, apiGroup: 'rbac.authorization.k8s.io' },
    ),
  })
  await until('the rights act', async () => {
    const { body } = await cluster.request<{ status: { allowed: boolean } }>(
      'POST',
      '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user: witness, nonResourceAttributes: { path: '/', verb: 'delete' } },
      },
    )
    return body.status.allowed
  })
}

async function created(send: SendRequest, path: string, object: unknown): Promise<Created> {
  const { status, body } = await send<Created>('POST', path, object)
  if (status !== 201) throw new Error(`creating at ${path} is answered with ${status}: ${body.message}`)
  return body
}
