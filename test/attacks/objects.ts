import type { Cluster } from '../servers/cluster.ts'

export interface Bindable {
  readonly name: string
  readonly uid: string
}

interface CoreObject {
  readonly kind: 'Secret' | 'Pod' | 'ServiceAccount' | (string & {})
  readonly metadata: { readonly name: string }
}

/** Creates an object of the core API as administrator; resolves with what a token can be bound to. */
export async function createObject(
  cluster: Cluster,
  namespace: string,
  object: CoreObject,
): Promise<Bindable> {
  const { status, body } = await cluster.request<{ metadata: Bindable; message?: string }>(
    'POST',
    collection(namespace, object.kind),
    { apiVersion: 'v1', ...object },
  )
  if (status !== 201) throw new Error(`${object.kind} ${object.metadata.name} (${status}): ${body.message}`)
  return { name: body.metadata.name, uid: body.metadata.uid }
}

/** Deletes a Pod at once, as where its kubelet has confirmed it. */
export async function deletePod(cluster: Cluster, namespace: string, name: string): Promise<void> {
  const { status } = await cluster.request(
    'DELETE',
    `${collection(namespace, 'Pod')}/${name}?gracePeriodSeconds=0`,
  )
  if (status !== 200) throw new Error(`Pod ${name} is not deleted: ${status}`)
}

/** A token by TokenRequest, bound to this object; for the API server unless `audiences` say otherwise. */
export async function boundTo(
  cluster: Cluster,
  namespace: string,
  account: string,
  object: Bindable & { readonly kind: string },
  audiences?: readonly string[],
): Promise<string> {
  const { status, body } = await cluster.request<{ status?: { token?: string }; message?: string }>(
    'POST',
    `${collection(namespace, 'ServiceAccount')}/${account}/token`,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        expirationSeconds: 3600,
        boundObjectRef: { apiVersion: 'v1', ...object },
        ...(audiences === undefined ? {} : { audiences }),
      },
    },
  )
  const token = body.status?.token
  if (status !== 201 || token === undefined)
    throw new Error(`no token of ${account} (${status}): ${body.message}`)
  return token
}

export function collection(namespace: string, kind: string): string {
  return `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s`
}

/** A Pod of this account; on a node where one is given, without asking a scheduler. */
export function podOf(account: string, name: string, nodeName?: string) {
  return {
    kind: 'Pod',
    metadata: { name },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      serviceAccountName: account,
      containers: [{ name: 'agent', image: 'rollcall-agent' }],
    },
  }
}
