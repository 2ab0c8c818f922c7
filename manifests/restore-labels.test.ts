import t from 'tap'
import { until } from '../test/fixtures/until.ts'
import { applyManifest, type Manifest, readManifests } from '../test/servers/manifests.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import {
  betaZone,
  heartbeat,
  initialize,
  kubeletOf,
  labelNode as label,
  labelsOf,
  patchNode as patch,
  type Requester,
  registerAgain,
  verifiedLabels,
  zone,
} from './testing/node-writers.ts'
import { registerNode } from './testing/writers.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const controller = await cluster.as({ user: 'system:serviceaccount:kube-system:rollcall-controller' })

/** A Node that the controller has initialized, and its kubelet. */
async function initialized(name: string, labels?: Record<string, string>): Promise<Requester> {
  const kubelet = await kubeletOf(cluster, name)
  await registerNode(kubelet.request, name)
  await initialize(controller, name, labels)
  return kubelet
}

const probe = await initialized('probe')
await until('the policy acts', async () => {
  const { status } = await label(probe, 'probe/status', { [zone]: 'other' })
  return status === 200
})

/** How often the policy went to work on a request. */
async function mutations(): Promise<number> {
  const { body } = await cluster.request<string>('GET', '/metrics')
  const lines = body
    .split('\n')
    .filter((line) => line.startsWith('apiserver_mutating_admission_policy_check_total{'))
  const own = lines.filter((line) => line.includes('policy="restore-labels.rollcall.dev"'))
  return own.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

await t.test(
  'a kubelet registers again whatever its --node-labels say, and the verified labels stand',
  async (t) => {
    const a = await initialized('a')
    const before = await labelsOf(cluster, 'a')
    const foreign = Object.fromEntries(Object.keys(verifiedLabels).map((key) => [key, 'elsewhere']))
    t.ok(await registerAgain(a, 'a', { ...foreign, 'kubernetes.io/arch': 'arm64' }), 'at the first attempt')
    t.strictSame(
      await labelsOf(cluster, 'a'),
      { ...before, 'kubernetes.io/arch': 'arm64' },
      'another label passes',
    )
    t.match(await heartbeat(a, 'a'), { status: 200 })
    t.ok(await registerAgain(a, 'a', { [zone]: '' }), 'without a value, which means none')
    t.match(await labelsOf(cluster, 'a'), verifiedLabels)
  },
)

await t.test('no verified label changes by the hand of the kubelet, in whatever way it writes', async (t) => {
  const b = await initialized('b')
  const before = await labelsOf(cluster, 'b')
  const refused = {
    status: 403,
    message: /may not change the label .* it was verified against vCenter; take it out/,
  }
  for (const [path, answer] of [
    ['b', refused],
    ['b/status', { status: 200 }],
  ] as const) {
    for (const key of Object.keys(verifiedLabels)) {
      t.match(await label(b, path, { [key]: 'other' }), answer, `${key} on ${path}`)
      t.match(await label(b, path, { [key]: null }), answer, `${key} taken away on ${path}`)
      t.strictSame(await labelsOf(cluster, 'b'), before)
    }
    t.match(await label(b, path, { [zone]: 'other', [betaZone]: 'other' }), answer, 'both forms')
    t.match(await label(b, path, { [zone]: null, [betaZone]: null }), answer, 'neither form')
    t.strictSame(await labelsOf(cluster, 'b'), before)

    const op = [{ op: 'replace', path: '/metadata/labels/topology.kubernetes.io~1zone', value: 'other' }]
    t.match(await patch(b, path, op, 'application/json-patch+json'), answer, 'a JSON patch')
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'b', labels: { [zone]: 'other' } } }
    const query = `${path}?fieldManager=kubelet&force=true`
    t.match(await patch(b, query, applied, 'application/apply-patch+yaml'), answer, 'an apply')
    const { body } = await b.request<{ metadata: object }>('GET', '/api/v1/nodes/b')
    const replaced = { ...body, metadata: { ...body.metadata, labels: { ...before, [zone]: 'other' } } }
    t.match(
      await b.request('PUT', `/api/v1/nodes/${path}`, replaced),
      { status: answer.status },
      'the whole object',
    )
    t.strictSame(await labelsOf(cluster, 'b'), before)
  }
})

await t.test('a kubelet that takes all labels away leaves the verified ones', async (t) => {
  const c = await kubeletOf(cluster, 'c')
  const taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', effect: 'NoSchedule' }
  const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'c' }, spec: { taints: [taint] } }
  await c.request('POST', '/api/v1/nodes', bare)
  await initialize(controller, 'c')
  t.match(await patch(c, 'c/status', { metadata: { labels: null } }, 'application/merge-patch+json'), {
    status: 200,
  })
  t.strictSame(await labelsOf(cluster, 'c'), verifiedLabels)
})

await t.test('what is not verified is not put back', async (t) => {
  const d = await initialized('d', { [zone]: 'rack-1' })
  t.match(await label(d, 'd/status', { [zone]: 'rack-2' }), { status: 200 })
  t.match(await labelsOf(cluster, 'd'), { [zone]: 'rack-2' }, 'one form alone')
  t.match(await label(d, 'd/status', { [betaZone]: 'rack-1' }), { status: 200 })
  t.match(await label(d, 'd/status', { [zone]: 'x', [betaZone]: 'y' }), { status: 200 })
  t.match(await labelsOf(cluster, 'd'), { [zone]: 'x', [betaZone]: 'y' }, 'two values')

  const e = await kubeletOf(cluster, 'e')
  await registerNode(e.request, 'e', verifiedLabels)
  t.match(await label(e, 'e/status', { [zone]: 'other' }), { status: 200 })
  t.match(await labelsOf(cluster, 'e'), { [zone]: 'other' }, 'a Node that is not initialized')

  const spec = { spec: { providerID: 'other://e' } }
  await patch(cluster, 'e', { ...spec, metadata: { labels: verifiedLabels } })
  t.match(await label(e, 'e/status', { [zone]: 'other' }), { status: 200 })
  t.match(await labelsOf(cluster, 'e'), { [zone]: 'other' }, "another provider's Node")
})

await t.test('the controller and people may change verified labels', async (t) => {
  await initialized('f')
  for (const [who, value] of [
    [controller, 'zone-b'],
    [cluster, 'zone-c'],
  ] as const) {
    t.match(await label(who, 'f', { [zone]: value, [betaZone]: value }), { status: 200 })
    t.match(await labelsOf(cluster, 'f'), { [zone]: value, [betaZone]: value })
  }
})

await t.test('the policy does not go to work on heartbeats', async (t) => {
  const i = await initialized('i')
  const before = await mutations()
  for (let count = 0; count < 20; count++) t.match(await heartbeat(i, 'i'), { status: 200 })
  const { body } = await i.request<object>('GET', '/api/v1/nodes/i')
  t.match(await i.request('PUT', '/api/v1/nodes/i/status', body), { status: 200 }, 'the whole object')
  t.match(await patch(i, 'i', { metadata: { annotations: { some: 'thing' } } }), { status: 200 })
  t.equal(await mutations(), before)
  t.match(await label(i, 'i/status', { [zone]: 'other' }), { status: 200 })
  t.equal(await mutations(), before + 1, 'and is seen where it does')
})

await t.test('where it fails, heartbeats pass, and contradicting labels are refused', async (t) => {
  const j = await initialized('j')
  const [policy] = await readManifests('policy-restore-labels.yaml')
  type Policy = Manifest & { spec: { variables: { name: string; expression: string }[] } }
  const broken = structuredClone(policy) as Policy
  for (const variable of broken.spec.variables) {
    if (variable.name === 'changed') variable.expression = "[variables.before['no-such-label']]"
  }
  await applyManifest(cluster, broken)
  await until('the broken policy acts', async () => {
    const { status, message } = await label(j, 'j/status', { [zone]: 'other' })
    return status === 403 && /may not change the label/.test(message)
  })
  t.match(await heartbeat(j, 'j'), { status: 200 })
  t.ok(await registerAgain(j, 'j', { 'kubernetes.io/arch': 'arm64' }))
  t.match(await labelsOf(cluster, 'j'), { ...verifiedLabels, 'kubernetes.io/arch': 'arm64' })
})
