import type { ApiClient } from './api/client.ts'
import { ApiError } from './shared/api-error.ts'

/** The Node that the agent's credential belongs to. */
export interface NodeIdentity {
  readonly nodeName: string
  readonly nodeUID: string
}

/** An unexpected name or answer; the message says which credential the agent needs. */
export class IdentityError extends Error {
  override readonly name = 'IdentityError'
  /** What to do about it. */
  readonly next: string

  constructor(message: string, next = 'give the agent a credential of its node') {
    super(message)
    this.next = next
  }
}

/** The kubelet has not registered its Node yet. */
export class NodeMissingError extends Error {
  override readonly name = 'NodeMissingError'
}

/** The user name that the API server gives a kubelet. */
const KUBELET = 'system:node:'
/** In the extra of a pod-bound token, from Kubernetes 1.30 on (KEP-4193). */
const EXTRA_NAME = 'authentication.kubernetes.io/node-name'
const EXTRA_UID = 'authentication.kubernetes.io/node-uid'

/**
 * Asks the API server who the credential belongs to. A pod-bound token carries its Node's name and UID; a kubelet's
 * credential carries the name, and may read its own Node for the UID.
 *
 * @throws IdentityError, NodeMissingError, and what the client throws
 */
export async function identify(client: ApiClient): Promise<NodeIdentity> {
  const review = await reviewSelf(client)
  const user = field(field(review, 'status'), 'userInfo')
  const username = field(user, 'username')
  if (typeof username !== 'string')
    throw new IdentityError('the API server does not say who this credential is')
  if (username.startsWith(KUBELET)) return ownNode(client, username.slice(KUBELET.length))

  const extra = field(user, 'extra')
  const nodeName = first(field(extra, EXTRA_NAME))
  const nodeUID = first(field(extra, EXTRA_UID))
  if (nodeName !== undefined && nodeUID !== undefined) return { nodeName, nodeUID: nodeUID.toLowerCase() }
  if (nodeName !== undefined) {
    // The API server puts no UID into a token that it issues while the Node is missing.
    throw new IdentityError(
      `the token names Node ${quoted(nodeName)} without its UID: it was issued while the Node was not registered`,
      'delete this pod, or wait for the kubelet to renew the token',
    )
  }
  throw new IdentityError(
    `the credential ${quoted(username)} belongs to no node: use the kubelet's kubeconfig, or a service account token bound to a pod (which names its node from Kubernetes 1.30 on)`,
  )
}

/** The time of the API server, RFC 3339 with seconds; undefined where it does not say. */
export async function askTime(client: ApiClient): Promise<string | undefined> {
  const time = field(field(await reviewSelf(client), 'metadata'), 'creationTimestamp')
  return typeof time === 'string' ? time : undefined
}

function reviewSelf(client: ApiClient): Promise<unknown> {
  return client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  })
}

async function ownNode(client: ApiClient, nodeName: string): Promise<NodeIdentity> {
  try {
    const node = await client.request({
      method: 'GET',
      path: `/api/v1/nodes/${encodeURIComponent(nodeName)}`,
      // Metadata only: a whole Node with its images is many times longer.
      accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    })
    const uid = field(field(node, 'metadata'), 'uid')
    if (typeof uid !== 'string') throw new IdentityError(`Node ${quoted(nodeName)} has no UID`)
    return { nodeName, nodeUID: uid.toLowerCase() }
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
    throw new NodeMissingError(`Node ${quoted(nodeName)} is not registered yet`, { cause: error })
  }
}

function field(value: unknown, key: string): unknown {
  if (value === null || typeof value !== 'object') return undefined
  return Object.entries(value).find(([name]) => name === key)?.[1]
}

function first(value: unknown): string | undefined {
  const item: unknown = Array.isArray(value) ? value[0] : undefined
  return typeof item === 'string' && item !== '' ? item : undefined
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 260))
}
