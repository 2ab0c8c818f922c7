import t from 'tap'
import { until } from '../test/fixtures/until.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import {
  betaZone,
  heartbeat,
  initialize,
  kubeletOf,
  labelNode as label,
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
const kubelet = (name: string) => kubeletOf(cluster, name)

const refused = {
  status: 403,
  message: /may not change the label .* it was verified against vCenter; take it out/,
}

// As before Kubernetes 1.36: alone.
const restoreLabels =
  '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings/restore-labels.rollcall.dev'
const { status } = await cluster.request('DELETE', restoreLabels)
if (status !== 200) throw new Error(`deleting the binding is answered with ${status}`)
const probe = await kubelet('probe')
await registerNode(probe.request, 'probe')
await initialize(controller, 'probe')
await until('the policy that restores labels is withdrawn', async () => {
  const { status, message } = await label(probe, 'probe/status', { [zone]: 'other' })
  return status === refused.status && refused.message.test(message)
})

await t.test(
  'a kubelet registers, reports and settles its labels until the Node is initialized',
  async (t) => {
    const a = await kubelet('a')
    await registerNode(a.request, 'a', { [zone]: 'anywhere' })
    t.match(await heartbeat(a, 'a'), { status: 200 })
    t.match(await label(a, 'a/status', { [zone]: 'elsewhere', [betaZone]: 'elsewhere' }), { status: 200 })
  },
)

await t.test('of an initialized Node', async (t) => {
  const b = await kubelet('b')
  await registerNode(b.request, 'b')
  await initialize(controller, 'b')

  await t.test('heartbeats pass', async (t) => {
    t.match(await heartbeat(b, 'b'), { status: 200 })
    const { body } = await b.request<object>('GET', '/api/v1/nodes/b')
    t.match(await b.request('PUT', '/api/v1/nodes/b/status', body), { status: 200 }, 'the whole object')
    t.match(await patch(b, 'b', { metadata: { annotations: { some: 'thing' } } }), { status: 200 })
  })

  await t.test('a kubelet that starts again passes, with --node-labels that agree', async (t) => {
    t.ok(await registerAgain(b, 'b', { [zone]: 'zone-a', 'node.kubernetes.io/own': 'x' }))
    t.notOk(await registerAgain(b, 'b', { [zone]: 'zone-b' }), 'and waits with others')
  })

  await t.test('no verified label changes by the hand of the kubelet, by neither way', async (t) => {
    for (const key of Object.keys(verifiedLabels)) {
      for (const path of ['b', 'b/status']) {
        t.match(await label(b, path, { [key]: 'other' }), refused, `${key} on ${path}`)
        t.match(await label(b, path, { [key]: null }), refused, `${key} taken away on ${path}`)
      }
    }
    t.match(await label(b, 'b', { [zone]: 'other', [betaZone]: 'other' }), refused, 'both forms at once')
    const message = /"system:node:b" may not change the label topology.kubernetes.io\/zone of Node "b"/
    t.match(await label(b, 'b', { [zone]: 'other' }), { message })
  })

  await t.test('the controller and people may change them', async (t) => {
    for (const who of [controller, cluster]) {
      t.match(await label(who, 'b', { [zone]: 'zone-b', [betaZone]: 'zone-b' }), { status: 200 })
    }
  })
})

await t.test('a label that only the kubelet has set stays its own', async (t) => {
  const c = await kubelet('c')
  await registerNode(c.request, 'c', { [zone]: 'rack-1' })
  await initialize(controller, 'c', {})
  t.match(await label(c, 'c/status', { [zone]: 'rack-2' }), { status: 200 })
  t.match(await label(c, 'c/status', { [zone]: null }), { status: 200 })
})

await t.test('the provider ID is not for the kubelet to set afterwards', async (t) => {
  const d = await kubelet('d')
  await registerNode(d.request, 'd')
  t.match(await patch(d, 'd', { spec: { providerID: 'vsphere://other' } }), {
    status: 403,
    message: /"system:node:d" may not change the provider ID of Node "d"/,
  })
  t.match(await patch(d, 'd/status', { spec: { providerID: 'vsphere://other' } }), { status: 200 })
  const { body } = await cluster.request<{ spec: object }>('GET', '/api/v1/nodes/d')
  t.notHas(body.spec, { providerID: String }, 'a status brings no spec')
})

for (const [what, key] of [
  ['which VM its Node is', 'rollcall.dev/vm'],
  ['which of its labels are Rollcall’s', 'rollcall.dev/labels'],
] as const) {
  await t.test(`${what}, others say and not the kubelet`, async (t) => {
    const name = `kubelet-${key.replace('rollcall.dev/', '')}`
    const f = await kubelet(name)
    await registerNode(f.request, name)
    const annotate = (who: Requester, path: string, value: string | null) =>
      patch(who, path, { metadata: { annotations: { [key]: value } } })
    const message = new RegExp(`"system:node:${name}" may not change the annotation ${key} of Node "${name}"`)
    for (const path of [name, `${name}/status`])
      t.match(await annotate(f, path, 'mine'), { status: 403, message }, `set at ${path}`)
    t.match(await annotate(cluster, name, 'vm-1'), { status: 200 }, 'a person may')
    for (const path of [name, `${name}/status`]) {
      for (const value of ['mine', null])
        t.match(await annotate(f, path, value), { status: 403, message }, `${value} at ${path}`)
      const all = await patch(f, path, { metadata: { annotations: null } })
      t.match(all, { status: 403, message }, `all annotations away at ${path}`)
    }
    t.match(await heartbeat(f, name), { status: 200 })
  })
}

await t.test('Nodes of another provider are none of our business', async (t) => {
  const e = await kubelet('e')
  await registerNode(e.request, 'e')
  await patch(
    controller,
    'e',
    { metadata: { labels: verifiedLabels }, spec: { providerID: 'other://e' } },
    'application/merge-patch+json',
  )
  t.match(await label(e, 'e/status', { [zone]: 'other' }), { status: 200 })
})
