import t from 'tap'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { initialize, kubeletOf, patchNode, type Requester } from './testing/node-writers.ts'
import { bindToEverything, registerNode, token, withToken } from './testing/writers.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const controller: Requester = { request: withToken(cluster, await token(cluster, 'rollcall-controller')) }
const merge = 'application/merge-patch+json'
const policy = "ValidatingAdmissionPolicy 'delete-node.rollcall.dev'"

interface Node {
  message?: string
  metadata: { uid: string; resourceVersion: string }
}

const read = async (name: string) => (await cluster.request<Node>('GET', `/api/v1/nodes/${name}`)).body

/** What is told by the kubelet of a Node. */
interface Told {
  readonly ready?: string
  readonly others?: readonly string[]
  readonly wish?: string
  readonly providerID?: string
  /** Without the taint of one that waits for a cloud provider. */
  readonly untainted?: boolean
  /** No conditions at all. */
  readonly silent?: boolean
}

let nodes = 0

/** An initialized Node in this state; its name. */
async function nodeThat({
  ready = 'Unknown',
  others = [],
  wish,
  providerID,
  untainted,
  silent,
}: Told): Promise<string> {
  const name = `node-${nodes++}`
  const kubelet = await kubeletOf(cluster, name)
  await registerNode(kubelet.request, name)
  if (providerID === undefined) await initialize(controller, name)
  else if (providerID !== '') await patchNode(cluster, name, { spec: { providerID } }, merge)
  if (untainted) await patchNode(cluster, name, { spec: { taints: null } }, merge)
  const conditions = [
    ...others.map((type) => ({ type, status: 'True', lastHeartbeatTime: new Date() })),
    { type: 'Ready', status: ready, reason: 'Told', message: 'told', lastHeartbeatTime: new Date() },
  ]
  if (!silent) await patchNode(kubelet, `${name}/status`, { status: { conditions } })
  if (wish !== undefined)
    await patchNode(cluster, name, { metadata: { annotations: { 'rollcall.dev/deletion': wish } } })
  return name
}

async function remove(who: Requester, name: string, options: object = {}) {
  const { status, body } = await who.request<{ message?: string }>('DELETE', `/api/v1/nodes/${name}`, options)
  return { status, message: String(body.message) }
}

/** The very Node that stands there. */
async function asSeen(name: string) {
  const { uid, resourceVersion } = (await read(name)).metadata
  return { preconditions: { uid, resourceVersion } }
}

const taken: [string, Told][] = [
  ['whose kubelet is not heard of', {}],
  ['that is not ready', { ready: 'False' }],
  ['that never said whether it is ready', { silent: true }],
  ['of which other conditions are true', { others: ['MemoryPressure', 'NetworkUnavailable'] }],
  ['that a person lets go', { wish: 'proceed' }],
  ['that still waits for its provider ID', { providerID: '' }],
]
for (const [what, told] of taken) {
  t.test(`the controller deletes a Node ${what}`, async (t) => {
    const name = await nodeThat(told)
    t.match(await remove(controller, name, await asSeen(name)), { status: 200 })
    t.match(await read(name), { reason: 'NotFound' })
  })
}

const kept: [string, Told, RegExp][] = [
  // That is ready: test/attacks/lifecycle.test.ts.
  ['that is ready, and let go', { ready: 'True', wish: 'proceed' }, /which is Ready: its kubelet runs/],
  ['that is held', { wish: 'hold' }, /holds; remove the annotation to allow its deletion/],
  ['that is held in other words', { wish: 'Hold!' }, /holds; remove the annotation to allow its deletion/],
  ['whose annotation is empty', { wish: '' }, /holds; remove the annotation to allow its deletion/],
  [
    'whose annotation is long',
    { wish: 'proceed'.padEnd(100_000) },
    /holds; remove the annotation to allow its deletion/,
  ],
  ['of another provider', { providerID: 'other://vsphere://1' }, /provider ID does not begin/],
  ['without a provider ID', { providerID: '', untainted: true }, /provider ID does not begin/],
  ['of another provider, that waits for it', { providerID: 'other://1' }, /provider ID does not begin/],
]
for (const [what, told, message] of kept) {
  t.test(`the controller deletes no Node ${what}`, async (t) => {
    const name = await nodeThat(told)
    const seen = await asSeen(name)
    const answer = await remove(controller, name, seen)
    t.match(answer, { status: 403, message })
    t.match(answer.message, policy)
    t.match(
      answer.message,
      `"system:serviceaccount:kube-system:rollcall-controller" may not delete Node "${name}"`,
    )
    t.match(await remove(controller, name, { ...seen, dryRun: ['All'] }), { status: 403 }, 'nor in a dry run')
    t.match((await read(name)).metadata, seen.preconditions, 'it is as it was')
    t.match(await remove(cluster, name), { status: 200 }, 'a person may')
  })
}

t.test('the controller deletes the very Node that it has judged, or none', async (t) => {
  const name = await nodeThat({})
  const { preconditions } = await asSeen(name)
  const { uid, resourceVersion } = preconditions
  const missing = { status: 403, message: /without its UID and resourceVersion as preconditions/ }
  t.match(await remove(controller, name), missing, 'no options')
  t.match(await remove(controller, name, { gracePeriodSeconds: 0 }), missing, 'other options')
  t.match(await remove(controller, name, { preconditions: {} }), missing, 'none')
  t.match(await remove(controller, name, { preconditions: { uid } }), missing, 'the UID alone')
  t.match(
    await remove(controller, name, { preconditions: { resourceVersion } }),
    missing,
    'the version alone',
  )
  const other = '0f7c7b39-5d4e-4b0c-9a52-5b1d8f2b6c11'
  t.match(await remove(controller, name, { preconditions: { uid: other, resourceVersion } }), { status: 409 })

  const kubelet = await kubeletOf(cluster, name)
  const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date() }
  await patchNode(kubelet, `${name}/status`, { status: { conditions: [ready] } })
  t.match(
    await remove(controller, name, { preconditions }),
    { status: 409 },
    'that it has come back meanwhile is a conflict, to be judged anew',
  )
})

t.test('whatever its rights are', async (t) => {
  const name = await nodeThat({ ready: 'True' })
  await bindToEverything(cluster, [
    { kind: 'ServiceAccount', name: 'rollcall-controller', namespace: 'kube-system' },
    { kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' },
  ])
  const all = await controller.request('DELETE', '/api/v1/nodes')
  t.match(all, { status: 403, body: { message: policy } }, 'all at once')
  t.match(await read(name), { metadata: { name } })
})

t.test('others delete Nodes as they did', async (t) => {
  const lifecycle = await cluster.as({
    user: 'system:serviceaccount:kube-system:node-controller',
    groups: ['system:masters'],
  })
  for (const who of [cluster, lifecycle]) {
    const name = await nodeThat({ ready: 'True', wish: 'hold' })
    t.match(await remove(who, name), { status: 200 })
  }
})
