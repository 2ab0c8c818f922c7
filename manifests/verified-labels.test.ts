import t from 'tap'
import { startCluster } from '../test/servers/cluster.ts'
import { applyManifests } from '../test/servers/manifests.ts'
import { registerNode, type Sender } from './testing/writers.ts'

const zone = 'topology.kubernetes.io/zone'
const betaZone = 'failure-domain.beta.kubernetes.io/zone'

const verified: Record<string, string> = {
  [zone]: 'zone-a',
  [betaZone]: 'zone-a',
  'topology.kubernetes.io/region': 'region-1',
  'failure-domain.beta.kubernetes.io/region': 'region-1',
  'node.kubernetes.io/instance-type': 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
  'beta.kubernetes.io/instance-type': 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
}

const cluster = await startCluster()
t.teardown(() => cluster.stop())
await applyManifests(cluster)
const controller = await cluster.as({ user: 'system:serviceaccount:kube-system:rollcall-controller' })

const kubelet = (name: string) => cluster.as({ user: `system:node:${name}`, groups: ['system:nodes'] })

/** Whoever it is, a kubelet or the administrator of the cluster itself. */
interface Requester {
  request: Sender
}

async function patch(who: Requester, path: string, body: unknown, kind = 'strategic-merge-patch') {
  const contentType = `application/${kind}+json`
  const answer = await who.request<{ message?: string }>('PATCH', `/api/v1/nodes/${path}`, body, {
    contentType,
  })
  return { status: answer.status, message: String(answer.body.message) }
}

const label = (who: Requester, path: string, labels: Record<string, string | null>) =>
  patch(who, path, { metadata: { labels } })

/** What a kubelet writes every few minutes, and at once when something has changed. */
function heartbeat(who: Requester, name: string) {
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    message: 'ready',
    lastHeartbeatTime: new Date(),
  }
  return patch(who, `${name}/status`, { status: { conditions: [ready] } })
}

/** What the controller writes once the VM is verified. */
async function initialise(name: string, labels: Record<string, string> = verified): Promise<void> {
  const body = { metadata: { labels }, spec: { providerID: `vsphere://${name}`, taints: [] } }
  const { status, message } = await patch(controller, name, body, 'merge-patch')
  if (status !== 200) throw new Error(message)
  const addresses = [{ type: 'InternalIP', address: '10.0.0.5' }]
  const answer = await patch(controller, `${name}/status`, { status: { addresses } }, 'merge-patch')
  if (answer.status !== 200) throw new Error(answer.message)
}

const refused = {
  status: 403,
  message: /may not change the label .* it was verified against vCenter; take it out/,
}

await t.test(
  'a kubelet registers, reports and settles its labels until the Node is initialised',
  async (t) => {
    const a = await kubelet('a')
    await registerNode(a.request, 'a', { [zone]: 'anywhere' })
    t.match(await heartbeat(a, 'a'), { status: 200 })
    t.match(await label(a, 'a/status', { [zone]: 'elsewhere', [betaZone]: 'elsewhere' }), { status: 200 })
  },
)

await t.test('of an initialised Node', async (t) => {
  const b = await kubelet('b')
  await registerNode(b.request, 'b')
  await initialise('b')

  await t.test('heartbeats pass', async (t) => {
    t.match(await heartbeat(b, 'b'), { status: 200 })
    const { body } = await b.request<object>('GET', '/api/v1/nodes/b')
    t.match(await b.request('PUT', '/api/v1/nodes/b/status', body), { status: 200 }, 'the whole object')
    t.match(await patch(b, 'b', { metadata: { annotations: { some: 'thing' } } }), { status: 200 })
  })

  await t.test('a kubelet that starts again passes, with --node-labels that agree', async (t) => {
    const { status } = await b.request('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'b' },
    })
    t.equal(status, 409, 'it asks whether its Node exists')
    const labels = { 'kubernetes.io/os': 'linux', 'node.kubernetes.io/own': 'x', [zone]: 'zone-a' }
    t.match(await label(b, 'b/status', labels), { status: 200 })
  })

  await t.test('no verified label changes by the hand of the kubelet, by neither way', async (t) => {
    for (const key of Object.keys(verified)) {
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
  await initialise('c', {})
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

await t.test('Nodes of another provider are none of our business', async (t) => {
  const e = await kubelet('e')
  await registerNode(e.request, 'e')
  await patch(
    controller,
    'e',
    { metadata: { labels: verified }, spec: { providerID: 'other://e' } },
    'merge-patch',
  )
  t.match(await label(e, 'e/status', { [zone]: 'other' }), { status: 200 })
})
