// A kubelet gets the Secrets and tokens of every Pod on its Node, so what counts is that no Pod of the controller comes
// to a Node that nobody has verified. manifests/placement.test.ts has the other half: by which labels Pods are placed.
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { podTemplate, readManifests } from '../servers/manifests.ts'
import { nodeObject } from '../world/kubelet.ts'
import { collection, createObject } from '../world/service-account.ts'
import { checkRefused, runTheme } from './refused.ts'
import { joining } from './rows/joining.ts'
import type { AttackRow } from './rows/row.ts'
import type { AttackRequest, Sender } from './sender.ts'
import { openAttackStage } from './stage.ts'

const stage = await openAttackStage(t, { vms: 3 })
const { cluster } = stage
const control = await stage.forger('control-1')
await cluster.request(
  'PATCH',
  '/api/v1/nodes/control-1',
  { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
  { contentType: 'application/merge-patch+json' },
)
/** It has joined, and its agent has not said a word. */
const { kubelet, uid } = await stage.forger('worker-1')

const [secret] = await readManifests('../config.example.yaml')
if (secret === undefined) throw new Error('there is no example of the Secret')
await createObject(cluster, 'kube-system', secret)
const { spec } = await podTemplate('controller.yaml')
const pods = {
  placed: await controllersPod('controller-placed', { nodeName: 'control-1' }),
  waiting: await controllersPod('controller-waiting', {}),
}

function controllersPod(name: string, place: object) {
  const sources = [{ serviceAccountToken: { path: 'token', expirationSeconds: 3607 } }]
  // The volume that the plugin ServiceAccount, which no test has, adds to every Pod.
  const volumes = [...[spec.volumes ?? []].flat(), { name: 'kube-api-access', projected: { sources } }]
  const pod = { kind: 'Pod', metadata: { name }, spec: { ...spec, volumes, ...place } }
  return createObject(cluster, 'kube-system', pod)
}

const SECRETS = collection('kube-system', 'Secret')
const PODS = collection('kube-system', 'Pod')
const getSecret: AttackRequest = { method: 'GET', path: `${SECRETS}/rollcall-config` }
const tokenOf = (pod: { name: string; uid: string }): AttackRequest => ({
  method: 'POST',
  path: `${collection('kube-system', 'ServiceAccount')}/rollcall-controller/token`,
  body: {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', ...pod } },
  },
})

const refused =
  (sender: Sender, ...attempts: AttackRequest[]) =>
  async (t: Test, row: AttackRow) => {
    for (const attempt of attempts) checkRefused(t, row, await sender.send(attempt))
  }

const placingLabels = [
  'node-role.kubernetes.io/control-plane',
  'rollcall.node-restriction.kubernetes.io/controller',
]
const labeled = (label: string): AttackRequest['body'] => ({ metadata: { labels: { [label]: '' } } })

const mirrorPod = (changes: object): AttackRequest => ({
  method: 'POST',
  path: PODS,
  body: {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'mirror',
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'worker-1', uid, controller: true }],
    },
    spec: { nodeName: 'worker-1', containers: [{ name: 'a', image: 'a' }], ...changes },
  },
})

await t.test('the kubelet of the node that has the Pod gets both', async (t) => {
  // Neither the authorizer nor NodeRestriction knows a Pod before its watch has told.
  await until('the API server knows the Pod', async () => {
    const { status } = await control.kubelet.send(getSecret)
    return status === 200 ? true : undefined
  })
  const token = await control.kubelet.send(tokenOf(pods.placed))
  t.equal(token.status, 201, token.message)
})

await runTheme(t, joining, {
  secret: refused(kubelet, getSecret),
  secrets: refused(
    kubelet,
    { method: 'GET', path: SECRETS },
    { method: 'GET', path: `${SECRETS}?watch=true` },
    { method: 'GET', path: '/api/v1/secrets' },
  ),
  token: refused(kubelet, tokenOf(pods.placed), tokenOf(pods.waiting)),
  'a label at registration': async (t, row) => {
    for (const [i, label] of placingLabels.entries()) {
      const name = `worker-2${i}`
      const joined = await stage.sender({
        certificate: await cluster.clientCertificate({
          user: `system:node:${name}`,
          groups: ['system:nodes'],
        }),
      })
      const body = nodeObject({ name, biosUUID: crypto.randomUUID(), labels: { [label]: '' } })
      await refused(joined, { method: 'POST', path: '/api/v1/nodes', body })(t, row)
    }
  },
  'a label afterwards': refused(
    kubelet,
    ...placingLabels.flatMap((label) =>
      ['', '/status'].map(
        (subresource): AttackRequest => ({
          method: 'PATCH',
          path: `/api/v1/nodes/worker-1${subresource}`,
          body: labeled(label),
          contentType: 'application/merge-patch+json',
        }),
      ),
    ),
  ),
  binding: refused(kubelet, {
    method: 'POST',
    path: `${PODS}/controller-waiting/binding`,
    body: {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'controller-waiting' },
      target: { kind: 'Node', name: 'worker-1' },
    },
  }),
  'a mirror Pod': refused(kubelet, mirrorPod({ serviceAccountName: 'rollcall-controller' })),
  'a mirror Pod with the Secret': refused(
    kubelet,
    mirrorPod({ volumes: [{ name: 'config', secret: { secretName: 'rollcall-config' } }] }),
  ),
  'no room elsewhere': async (t, row) => {
    await refused(kubelet, { method: 'DELETE', path: `${PODS}/controller-placed` })(t, row)
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'controller-placed' } }
    const eviction = { method: 'POST', path: `${PODS}/controller-placed/eviction`, body } as const
    const evicting = { ...row, seen: 'can only evict pods with spec.nodeName set to itself' }
    checkRefused(t, evicting, await kubelet.send(eviction))
  },
})
