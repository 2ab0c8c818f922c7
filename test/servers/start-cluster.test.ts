import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import t from 'tap'
import { startCluster } from './start-cluster.ts'

t.test('a cluster that does what a cluster does', async (t) => {
  await using cluster = await startCluster()
  const { status, body } = await cluster.request('GET', '/version')
  t.equal(status, 200)
  t.match(body, { gitVersion: /^v1\.\d+/ })

  await t.test('a kubelet registers its own Node and no other', async (t) => {
    const path = await cluster.kubeconfig({ user: 'system:node:n1', groups: ['system:nodes'] })
    t.ok(existsSync(path))
    const kubelet = await cluster.as({ user: 'system:node:n1', groups: ['system:nodes'] })
    const node = (name: string) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } })
    t.equal((await kubelet.request('POST', '/api/v1/nodes', node('n1'))).status, 201)
    t.equal((await kubelet.request('POST', '/api/v1/nodes', node('n2'))).status, 403)
  })

  await t.test('a service account gets a token that works', async (t) => {
    const accounts = '/api/v1/namespaces/kube-system/serviceaccounts'
    t.equal((await cluster.request('POST', accounts, { metadata: { name: 'agent' } })).status, 201)
    const answer = await cluster.request<{ status: { token: string } }>('POST', `${accounts}/agent/token`, {
      spec: { expirationSeconds: 600 },
    })
    t.equal(answer.status, 201)
    const review = await cluster.request(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {},
      { token: answer.body.status.token },
    )
    t.match(review, {
      status: 201,
      body: { status: { userInfo: { username: 'system:serviceaccount:kube-system:agent' } } },
    })
  })

  await t.test('an outage keeps address and data', async (t) => {
    await cluster.stopApiServer()
    await t.rejects(cluster.request('GET', '/api/v1/nodes/n1'))
    await cluster.startApiServer()
    t.match(await cluster.request('GET', '/api/v1/nodes/n1'), {
      status: 200,
      body: { metadata: { name: 'n1' } },
    })
  })
})

t.test('a stopped cluster leaves nothing', async (t) => {
  const cluster = await startCluster()
  await cluster.stop()
  t.notOk(existsSync(cluster.dir))
  t.notMatch(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }), cluster.dir)
  const port = Number(new URL(cluster.url).port)
  const refused = await new Promise((resolve) =>
    connect(port, '127.0.0.1').once('error', () => resolve(true)),
  )
  t.ok(refused)
})
