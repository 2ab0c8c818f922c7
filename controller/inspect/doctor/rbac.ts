/** The rights that the manifests give, to check that they are there. */
import { fail, fine } from '../../../agent/shared/diagnosis.ts'
import type { Config } from '../../config/config.ts'
import { DEFAULT_LEASE, textOf } from '../../cpi/interlock/find-cpi.ts'
import {
  accountOf,
  type ResourceAttributes,
  reviewAccess,
  type User,
} from '../../kubernetes/access-review.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import { listed } from '../../lib/format.ts'
import { clusterCheck } from './cluster.ts'

/** One verb on one resource. */
export interface Right {
  readonly verb: string
  /** As kubectl names it: `nodereports.rollcall.dev/status`. */
  readonly on: string
  /** Of the one object that it is limited to. */
  readonly name?: string
  /** The whole cluster where there is none. */
  readonly namespace?: string
}

const LEASES = 'leases.coordination.k8s.io'

/** What `rbac.yaml` gives the controller, for the Lease that it competes for and the agents' account. */
export function controllerRights(lease: LeaseName, agent: LeaseName): readonly Right[] {
  return flat([
    { verbs: ['list', 'watch', 'patch', 'delete'], on: 'nodes' },
    { verbs: ['patch'], on: 'nodes/status' },
    { verbs: ['list', 'watch', 'create'], on: 'nodereports.rollcall.dev' },
    { verbs: ['patch'], on: 'nodereports.rollcall.dev/status' },
    { verbs: ['list'], on: 'volumeattachments.storage.k8s.io' },
    { verbs: ['list', 'watch'], on: 'csinodes.storage.k8s.io' },
    { verbs: ['create', 'patch'], on: 'events', namespace: 'default' },
    { verbs: ['create'], on: LEASES, namespace: lease.namespace },
    { verbs: ['get', 'update'], on: LEASES, ...lease },
    { verbs: ['get'], on: LEASES, ...DEFAULT_LEASE },
    { verbs: ['list'], on: 'daemonsets.apps', namespace: DEFAULT_LEASE.namespace },
    { verbs: ['list'], on: 'deployments.apps', namespace: DEFAULT_LEASE.namespace },
    { verbs: ['get'], on: LEASES, namespace: 'kube-node-lease' },
    { verbs: ['impersonate'], on: 'serviceaccounts', ...agent },
  ])
}

/** What the component `approve-certificates` gives the controller. */
export const CERTIFICATE_RIGHTS = flat([
  { verbs: ['list', 'watch'], on: 'certificatesigningrequests.certificates.k8s.io' },
  { verbs: ['patch'], on: 'certificatesigningrequests.certificates.k8s.io/approval' },
  { verbs: ['approve'], on: 'signers.certificates.k8s.io', name: 'kubernetes.io/kubelet-serving' },
])

/** What `rbac.yaml` gives the agents. */
export const AGENT_RIGHTS = flat([{ verbs: ['create', 'patch'], on: 'nodereports.rollcall.dev' }])

/** What `credentials.example.yaml` gives for the Secrets that `vsphere.conf` names. */
function secretRights({ credentials }: Pick<Config, 'credentials'>): readonly Right[] {
  return flat(
    Object.values(credentials).flatMap((source) =>
      source.kind === 'secret'
        ? [{ verbs: ['list', 'watch'], on: 'secrets', namespace: source.namespace, name: source.name }]
        : [],
    ),
  )
}

function flat(
  rows: readonly (Omit<Right, 'verb'> & { readonly verbs: readonly string[] })[],
): readonly Right[] {
  return rows.flatMap(({ verbs, ...row }) => verbs.map((verb) => ({ verb, ...row })))
}

/** As `patch nodes/status in the cluster`. */
function describeRight({ verb, on, name, namespace }: Right): string {
  const where = namespace === undefined ? 'in the cluster' : `in ${namespace}`
  return `${verb} ${on}${name === undefined ? '' : ` ${name}`} ${where}`
}

/** Asks the API server for each right that the manifests give whether the account has it. */
async function missingOf(
  client: KubeClient,
  rights: readonly Right[],
  { account, user }: { readonly account: string; readonly user?: User },
  signal: AbortSignal,
) {
  const allowed = await Promise.all(
    rights.map((right) => reviewAccess(client, user, attributesOf(right), signal)),
  )
  return { account, missing: rights.filter((_, index) => allowed[index] !== true) }
}

function judge({ account, missing }: Awaited<ReturnType<typeof missingOf>>) {
  if (missing.length === 0) return fine(`${account} has all rights of the manifests`)
  const has = (part: string) => missing.some(({ on }) => on.includes(part))
  const next = [
    'rbac.yaml',
    ...(has('secrets') ? ['for Secrets the Role of credentials.example.yaml'] : []),
    ...(has('certificates.k8s.io') ? ['for certificates the component approve-certificates'] : []),
  ]
  return fail(`${account} may not ${listed(missing.map(describeRight))}; apply ${next.join(', and ')}`)
}

export const RIGHTS = {
  controllerRights: clusterCheck({
    name: 'RBAC of the controller',
    look({ client, user, accounts, lease, config }, signal) {
      const account = serviceAccount(accounts.controller)
      // Of its own rights an account may ask without a user.
      const whose = user === account.user.user ? { account: user } : account
      const more = [
        ...(config === undefined ? [] : secretRights(config)),
        ...(config?.certificates.approve === true ? CERTIFICATE_RIGHTS : []),
      ]
      return missingOf(client, [...controllerRights(lease, accounts.agent), ...more], whose, signal)
    },
    judge,
  }),
  agentRights: clusterCheck({
    name: 'RBAC of the agents',
    look: ({ client, accounts }, signal) =>
      missingOf(client, AGENT_RIGHTS, serviceAccount(accounts.agent), signal),
    judge,
  }),
}

function serviceAccount(account: LeaseName) {
  return { account: textOf(account), user: accountOf(account) }
}

function attributesOf({ verb, on, name, namespace }: Right): ResourceAttributes {
  const [resources = '', subresource] = on.split('/')
  const [resource = '', ...group] = resources.split('.')
  return {
    verb,
    resource,
    group: group.join('.'),
    ...(subresource === undefined ? {} : { subresource }),
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  }
}
