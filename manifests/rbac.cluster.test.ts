import { readFile } from 'node:fs/promises'
import t from 'tap'
import { Agent, request } from 'undici'
import type { Cluster } from '../test/servers/cluster.ts'
import { applyManifests } from '../test/servers/manifests.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import {
  CERTIFICATES_RBAC,
  flat,
  type GrantedRight,
  type Rule,
  rbacObjects,
  rightsOf,
  sentence,
  sentences,
} from './testing/rights.ts'
import { sampleReport } from './testing/sample-report.ts'
import { boundToken, registerNode, type SendRequest, token, withToken } from './testing/writers.ts'

const agent = 'kube-system/rollcall-agent'
const controller = 'kube-system/rollcall-controller'
const objects = await rbacObjects()

t.test('on a real API server, with real credentials', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  await applyManifests(cluster, [CERTIFICATES_RBAC])
  const kubelet = await cluster.as({ user: 'system:node:a', groups: ['system:nodes'] })
  const uid = await registerNode(kubelet.request, 'a')
  const senders: Record<string, SendRequest> = {
    [agent]: withToken(cluster, await boundToken(cluster, 'rollcall-agent', 'a')),
    [controller]: withToken(cluster, await token(cluster, 'rollcall-controller')),
    'system:nodes': kubelet.request,
  }
  const stranger = withToken(cluster, await boundToken(cluster, 'default', 'a'))

  await t.test('each right that is listed is given', async (t) => {
    for (const right of rightsOf(objects)) {
      const send = senders[right.who]
      t.ok(send && (await may(send, right)), sentence(right))
    }
  })

  await t.test('no other is, whatever a thief might want', async (t) => {
    const wanted: Omit<GrantedRight, 'who'>[] = [
      ...verbs('get list watch', { on: 'secrets' }),
      ...verbs('get list watch', { on: 'secrets', namespace: 'kube-system' }),
      ...verbs('get', { on: 'secrets', namespace: 'kube-system', name: 'rollcall-config' }),
      ...verbs('get update delete deletecollection', { on: 'nodereports.rollcall.dev' }),
      ...verbs('get update', { on: 'nodereports.rollcall.dev/status' }),
      ...verbs('get create update deletecollection', { on: 'nodes' }),
      ...verbs('get create', { on: 'nodes/proxy' }),
      ...verbs('get watch create update patch delete', { on: 'volumeattachments.storage.k8s.io' }),
      ...verbs('get create update patch delete', { on: 'csinodes.storage.k8s.io' }),
      ...verbs('get list delete', { on: 'persistentvolumes' }),
      ...verbs('get list create delete', { on: 'pods', namespace: 'kube-system' }),
      ...verbs('create', { on: 'pods/exec', namespace: 'kube-system' }),
      ...verbs('get list update', { on: 'configmaps', namespace: 'kube-system' }),
      ...verbs('create patch', { on: 'events', namespace: 'kube-system' }),
      ...verbs('list watch create update patch delete', {
        on: 'leases.coordination.k8s.io',
        namespace: 'kube-node-lease',
      }),
      ...verbs('get update delete', {
        on: 'leases.coordination.k8s.io',
        namespace: 'kube-system',
        name: 'other',
      }),
      ...verbs('update delete', {
        on: 'leases.coordination.k8s.io',
        namespace: 'kube-system',
        name: 'cloud-controller-manager',
      }),
      ...verbs('list', { on: 'daemonsets.apps' }),
      ...verbs('list', { on: 'deployments.apps' }),
      ...verbs('get watch create update patch delete', { on: 'daemonsets.apps', namespace: 'kube-system' }),
      ...verbs('get watch create update patch delete', { on: 'deployments.apps', namespace: 'kube-system' }),
      ...verbs('create', { on: 'leases.coordination.k8s.io', namespace: 'default' }),
      ...verbs('create', { on: 'serviceaccounts/token', namespace: 'kube-system', name: 'rollcall-agent' }),
      ...verbs('impersonate', { on: 'serviceaccounts' }),
      ...verbs('impersonate', { on: 'serviceaccounts', namespace: 'kube-system' }),
      ...verbs('impersonate', {
        on: 'serviceaccounts',
        namespace: 'kube-system',
        name: 'rollcall-controller',
      }),
      ...verbs('impersonate', { on: 'serviceaccounts', namespace: 'default', name: 'rollcall-agent' }),
      ...verbs('impersonate', { on: 'users', name: 'system:node:a' }),
      ...verbs('impersonate', { on: 'groups', name: 'system:nodes' }),
      ...verbs('impersonate', { on: 'uids.authentication.k8s.io' }),
      ...verbs('impersonate', {
        on: 'userextras.authentication.k8s.io/authentication.kubernetes.io/node-name',
        name: 'a',
      }),
      ...verbs('escalate bind', { on: 'clusterroles.rbac.authorization.k8s.io' }),
      ...verbs('create patch', { on: 'clusterrolebindings.rbac.authorization.k8s.io' }),
      ...verbs('patch delete', { on: 'validatingadmissionpolicies.admissionregistration.k8s.io' }),
      ...verbs('patch delete', { on: 'mutatingadmissionpolicybindings.admissionregistration.k8s.io' }),
      ...verbs('patch delete', { on: 'customresourcedefinitions.apiextensions.k8s.io' }),
      ...verbs('approve', { on: 'signers.certificates.k8s.io' }),
    ]
    for (const right of wanted) {
      for (const who of [agent, controller])
        t.notOk(await may(senders[who], right), sentence({ who, ...right }))
    }
    const agents = [
      ...verbs('list watch', { on: 'nodereports.rollcall.dev' }),
      ...verbs('patch', { on: 'nodereports.rollcall.dev/status' }),
      ...verbs('list watch patch delete', { on: 'nodes' }),
      ...verbs('list', { on: 'volumeattachments.storage.k8s.io' }),
      ...verbs('list watch', { on: 'csinodes.storage.k8s.io' }),
      ...verbs('patch', { on: 'nodes/status' }),
      ...verbs('create', { on: 'events', namespace: 'default' }),
      ...verbs('create', { on: 'leases.coordination.k8s.io', namespace: 'kube-system' }),
      ...verbs('get', { on: 'leases.coordination.k8s.io', namespace: 'kube-node-lease' }),
      ...verbs('get', {
        on: 'leases.coordination.k8s.io',
        namespace: 'kube-system',
        name: 'cloud-controller-manager',
      }),
      ...verbs('list', { on: 'daemonsets.apps', namespace: 'kube-system' }),
      ...verbs('impersonate', { on: 'serviceaccounts', namespace: 'kube-system', name: 'rollcall-agent' }),
    ]
    for (const right of agents) t.notOk(await may(senders[agent], right), sentence({ who: agent, ...right }))
    const patch = { verb: 'patch', on: 'nodereports.rollcall.dev' }
    t.notOk(await may(senders[controller], patch), 'the controller patches no report')
  })

  await t.test('the API server counts the same rights, and those that every account has', async (t) => {
    const mine = rightsOf(objects)
    for (const who of [agent, controller]) {
      for (const namespace of ['kube-system', 'default', 'kube-public', 'kube-node-lease']) {
        const common = await rules(stranger, namespace)
        const own = (await rules(senders[who], namespace)).filter((line) => !common.includes(line))
        const listed = mine
          .filter((right) => right.who === who && (right.namespace ?? namespace) === namespace)
          .map(({ verb, on, name }) => ({ who: 'it', verb, on, ...(name === undefined ? {} : { name }) }))
        t.strictSame(own.sort(), sentences(listed), `${who} in ${namespace}`)
      }
    }
  })

  await t.test('the controller cannot claim a node for the agent that it impersonates', async (t) => {
    const bearer = await token(cluster, 'rollcall-controller')
    const report = sampleReport('a', uid)
    const as = { 'impersonate-user': 'system:serviceaccount:kube-system:rollcall-agent' }
    t.match(await impersonate(cluster, bearer, as, report), {
      status: 403,
      message: /own-report.*names no node/,
    })
    for (const more of [
      { 'impersonate-extra-authentication.kubernetes.io%2fnode-name': 'a' },
      { 'impersonate-group': 'system:nodes' },
      { 'impersonate-uid': uid },
      { 'impersonate-user': 'system:node:a' },
    ]) {
      const answer = await impersonate(cluster, bearer, { ...as, ...more }, report)
      t.match(answer, { status: 403, message: /cannot impersonate/ }, JSON.stringify(more))
    }
  })
})

function verbs(words: string, right: Omit<GrantedRight, 'who' | 'verb'>): Omit<GrantedRight, 'who'>[] {
  return words.split(' ').map((verb) => ({ verb, ...right }))
}

/** What the API server says to the account itself. */
async function may(
  send: SendRequest | undefined,
  { verb, on, name, namespace }: Omit<GrantedRight, 'who'>,
): Promise<boolean> {
  const [qualified = '', ...subresource] = on.split('/')
  const [resource, ...group] = qualified.split('.')
  const resourceAttributes = {
    verb,
    resource,
    group: group.join('.'),
    ...(subresource.length > 0 && { subresource: subresource.join('/') }),
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
  }
  const { status, body } = await post<{ allowed: boolean }>(send, 'selfsubjectaccessreviews', {
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  })
  if (status !== 201 || typeof body.status?.allowed !== 'boolean')
    throw new Error(`a review was answered with ${status}`)
  return body.status.allowed
}

/** What the API server counts up for the account in a namespace, the whole cluster's rights among them. */
async function rules(send: SendRequest | undefined, namespace: string): Promise<string[]> {
  const { body } = await post<{ resourceRules: Rule[] }>(send, 'selfsubjectrulesreviews', {
    kind: 'SelfSubjectRulesReview',
    spec: { namespace },
  })
  return sentences((body.status?.resourceRules ?? []).flatMap(flat).map((right) => ({ who: 'it', ...right })))
}

async function post<Status>(send: SendRequest | undefined, resource: string, review: object) {
  if (!send) throw new Error('nobody to ask')
  const apiVersion = 'authorization.k8s.io/v1'
  return send<{ status?: Status }>('POST', `/apis/${apiVersion}/${resource}`, { apiVersion, ...review })
}

/** A dry run with a bearer token and headers, which no client here would send. */
async function impersonate(
  cluster: Cluster,
  bearer: string,
  headers: Record<string, string>,
  report: object,
) {
  const dispatcher = new Agent({ connect: { ca: await readFile(cluster.caFile, 'utf8') } })
  const answer = await request(`${cluster.url}/apis/rollcall.dev/v1alpha1/nodereports?dryRun=All`, {
    method: 'POST',
    dispatcher,
    headers: { ...headers, authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(report),
  })
  const { message } = (await answer.body.json()) as { message?: string }
  await dispatcher.close()
  return { status: answer.statusCode, message: String(message) }
}
