/** Asks the API server who we are, and what an account may do. It is asked by POST, and nothing is written. */
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import type { KubeClient, KubeRequest } from './client.ts'
import type { LeaseName } from './lease.ts'

/** As in a `SubjectAccessReview`. */
export interface ResourceAttributes {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly name?: string
  readonly namespace?: string
}

export interface User {
  readonly user: string
  readonly groups: readonly string[]
}

/** Where Rollcall runs, unless its chart was installed elsewhere. */
export const DEFAULT_NAMESPACE = 'kube-system'

/** The service accounts of Rollcall. */
export interface Accounts {
  readonly controller: LeaseName
  readonly agent: LeaseName
}

export function accountsIn(namespace: string, controller = 'rollcall-controller'): Accounts {
  return { controller: { namespace, name: controller }, agent: { namespace, name: 'rollcall-agent' } }
}

/** What the API server calls a service account. */
export function userOf({ namespace, name }: LeaseName): string {
  return `system:serviceaccount:${namespace}:${name}`
}

/** A service account with the groups that it is in. */
export function accountOf(account: LeaseName): User {
  const { namespace } = account
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated']
  return { user: userOf(account), groups }
}

const SelfSubjectReview = v.object({
  metadata: v.object({ creationTimestamp: v.pipe(v.string(), v.isoTimestamp()) }),
  status: v.object({ userInfo: v.object({ username: v.string() }) }),
})
export const AccessReview = v.object({ status: v.object({ allowed: v.nullish(v.boolean(), false) }) })

/**
 * Whom the API server takes us for, and its clock minus ours, in milliseconds.
 *
 * @throws as `KubeClient.request`
 */
export async function reviewSelf(
  client: KubeClient,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly user: string; readonly skew: number }> {
  const sent = clock.now()
  const parsed = v.safeParse(
    SelfSubjectReview,
    await review(client, 'authentication.k8s.io', 'SelfSubjectReview', {}, { signal }),
  )
  if (!parsed.success) throw new Error('the API server does not say who this credential is')
  const { metadata, status } = parsed.output
  // It says whole seconds.
  const skew = Date.parse(metadata.creationTimestamp) + 500 - (sent + clock.now()) / 2
  return { user: status.userInfo.username, skew }
}

/**
 * Whether somebody may do this.
 *
 * @param user for whom only those may ask that may create SubjectAccessReviews; undefined for ourselves
 * @throws as `KubeClient.request`
 */
export async function reviewAccess(
  client: KubeClient,
  user: User | undefined,
  resourceAttributes: ResourceAttributes,
  signal: AbortSignal,
): Promise<boolean> {
  const kind = user === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview'
  const spec = { ...user, resourceAttributes }
  const parsed = v.safeParse(
    AccessReview,
    await review(client, 'authorization.k8s.io', kind, { spec }, { signal }),
  )
  if (!parsed.success) throw new Error('the API server does not say what an account may do')
  return parsed.output.status.allowed === true
}

/** Creates a review of this kind; nothing is stored. */
export function review(
  client: KubeClient,
  group: string,
  kind: string,
  rest: object,
  about: Pick<KubeRequest, 'signal' | 'timeout'>,
): Promise<unknown> {
  const apiVersion = `${group}/v1`
  const path = `/apis/${apiVersion}/${kind.toLowerCase()}s`
  return client.request({ method: 'POST', path, body: { apiVersion, kind, ...rest }, ...about })
}
