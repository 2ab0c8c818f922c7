import t from 'tap'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { createLeaseStore, microTime } from './lease.ts'
import { adminClient, observed } from './testing/cluster-client.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const client = adminClient(cluster)
t.teardown(() => client.close())
const signal = new AbortController().signal
const path = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${name}`
const record = {
  holder: 'a',
  durationSeconds: 15,
  acquireTime: microTime(0),
  renewTime: microTime(1_234),
  transitions: 0,
}

t.test('of two writers one loses', async (t) => {
  const store = createLeaseStore(client, 'kube-system', 'writers')
  t.equal(await store.get(signal), undefined)
  const made = await store.create(record, signal)
  t.strictSame(made?.record, record)
  t.equal(await store.create(record, signal), undefined)
  if (!made) throw new Error('it was not made')

  const labels = { metadata: { labels: { team: 'x' } } }
  await cluster.request('PATCH', path('writers'), labels, { contentType: 'application/merge-patch+json' })
  t.equal(await store.update(made, record, signal), undefined, 'it changed meanwhile')
  const read = await store.get(signal)
  if (!read) throw new Error('it is gone')
  const next = { ...record, holder: '', durationSeconds: 1, transitions: 1 }
  t.strictSame((await store.update(read, next, signal))?.record, next)
  t.equal(await store.update(read, record, signal), undefined)
  t.match((await cluster.request('GET', path('writers'))).body, labels, "someone else's labels stay")
})

t.test("a bare Lease is nobody's", async (t) => {
  await cluster.request('POST', path(''), {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'bare' },
  })
  const found = await createLeaseStore(client, 'kube-system', 'bare').get(signal)
  t.match(found?.record, { holder: '', durationSeconds: 0, transitions: 0 })
})

t.test('errors are passed on', async (t) => {
  const lost = observed(client, () => {
    throw new Error('partition')
  })
  await t.rejects(createLeaseStore(lost, 'kube-system', 'x').get(signal), { message: 'partition' })
  await t.rejects(createLeaseStore(client, 'no-such-namespace', 'x').create(record, signal), {
    message: /404 NotFound/,
  })
})
