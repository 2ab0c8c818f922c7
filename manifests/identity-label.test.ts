import t from 'tap'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import {
  heartbeat,
  kubeletOf,
  labelNode,
  labelsOf,
  patchNode,
  type Requester,
  registerAgain,
} from './testing/node-writers.ts'
import { registerNode } from './testing/writers.ts'

/** NodeRestriction keeps kubelets from all labels under this suffix. */
const level = 'rollcall.node-restriction.kubernetes.io/identity-level'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const controller = await cluster.as({ user: 'system:serviceaccount:kube-system:rollcall-controller' })

const forbidden = {
  status: 403,
  message: /is not allowed to (set|modify) (the following )?labels: .*identity-level/,
}

await t.test('a kubelet cannot register a Node with the label', async (t) => {
  const a = await kubeletOf(cluster, 'a')
  const { status, body } = await a.request<{ message: string }>('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a', labels: { [level]: 'proven' } },
  })
  t.match({ status, message: body.message }, forbidden)
})

await t.test('a kubelet cannot set, change or remove it later', async (t) => {
  const b = await kubeletOf(cluster, 'b')
  await registerNode(b.request, 'b')
  const tries = async (who: Requester) => {
    for (const path of ['b', 'b/status']) {
      t.match(await labelNode(who, path, { [level]: 'proven' }), forbidden, `set on ${path}`)
    }
  }
  await tries(b)
  t.match(await labelNode(controller, 'b', { [level]: 'reported' }), { status: 200 }, 'the controller may')
  await tries(b)
  for (const path of ['b', 'b/status']) {
    t.match(await labelNode(b, path, { [level]: null }), forbidden, `removed on ${path}`)
    t.match(await patchNode(b, path, { metadata: { labels: null } }), forbidden, `all removed on ${path}`)
    const applied = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'b', labels: { [level]: 'proven' } } }
    const query = `${path}?fieldManager=kubelet&force=true`
    t.match(
      await patchNode(b, query, applied, 'application/apply-patch+yaml'),
      forbidden,
      `applied on ${path}`,
    )
    const { body } = await b.request<{ metadata: object }>('GET', '/api/v1/nodes/b')
    const without = { ...body, metadata: { ...body.metadata, labels: {} } }
    t.match(await b.request('PUT', `/api/v1/nodes/${path}`, without), { status: 403 }, `replaced on ${path}`)
  }
  t.match(await b.request('DELETE', '/api/v1/nodes/b'), { status: 403 }, 'nor with its Node')
  t.match(await labelsOf(cluster, 'b'), { [level]: 'reported' })
})

await t.test('it is in no way of heartbeats and registration', async (t) => {
  const c = await kubeletOf(cluster, 'c')
  await registerNode(c.request, 'c')
  t.match(await labelNode(controller, 'c', { [level]: 'proven' }), { status: 200 })
  t.match(await heartbeat(c, 'c'), { status: 200 })
  t.ok(await registerAgain(c, 'c', { 'kubernetes.io/arch': 'arm64' }))
  t.match(await labelsOf(cluster, 'c'), { [level]: 'proven', 'kubernetes.io/arch': 'arm64' })
})
