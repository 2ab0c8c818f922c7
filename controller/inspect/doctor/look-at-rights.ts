import type { Config } from '../../config/config.ts'
import { type ResourceAttributes, reviewAccess, type User } from '../../kubernetes/access-review.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import type { AccountRights, ClusterFacts } from './facts.ts'
import { type Looked, look } from './look.ts'
import {
  AGENT_ACCOUNT,
  AGENT_RIGHTS,
  CONTROLLER_ACCOUNT,
  controllerRights,
  NAMESPACE,
  type Right,
  secretRights,
} from './rights.ts'

/** Whose rights to ask for: our own where no user is given. */
interface Subject {
  readonly account: string
  readonly user: User | undefined
}

export interface RightsOptions {
  readonly client: KubeClient
  /** Whether the credential is the Pod's own, so that its rights are the controller's. */
  readonly inCluster: boolean
  readonly lease: LeaseName
  /** Undefined where it is wrong. */
  readonly config: Config | undefined
}

/** Asks the API server for each right that the manifests give whether the account has it. */
export async function lookAtRights(
  { client, inCluster, lease, config }: RightsOptions,
  self: string,
  signal: AbortSignal,
): Promise<Pick<ClusterFacts, 'controllerRights' | 'agentRights'>> {
  const account = serviceAccount(CONTROLLER_ACCOUNT)
  const isOwn = inCluster || self === account.user.user
  const controller = isOwn ? { account: self, user: undefined } : account
  const secrets = secretRights(Object.values(config?.credentials ?? {}))
  const [controllerRightsSeen, agentRights] = await Promise.all([
    ask(client, controller, [...controllerRights(lease), ...secrets], signal),
    ask(client, serviceAccount(AGENT_ACCOUNT), AGENT_RIGHTS, signal),
  ])
  return { controllerRights: controllerRightsSeen, agentRights }
}

function serviceAccount(name: string) {
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`, 'system:authenticated']
  return {
    account: `${NAMESPACE}/${name}`,
    user: { user: `system:serviceaccount:${NAMESPACE}:${name}`, groups },
  }
}

function ask(
  client: KubeClient,
  { account, user }: Subject,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<Looked<AccountRights>> {
  return look(async () => {
    const allowed = await Promise.all(
      rights.map((right) => reviewAccess(client, user, attributesOf(right), signal)),
    )
    return { account, missing: rights.filter((_, index) => allowed[index] !== true) }
  })
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
