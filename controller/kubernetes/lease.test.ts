import t from 'tap'
import { type Clock, systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { aborted } from '../tasks.ts'
import { createLeaderElection } from './leader-election.ts'
import { createLeaseStore, microTime } from './lease.ts'
import { adminClient, observed } from './testing/cluster-client.ts'
import { createLogLines } from './testing/log-lines.ts'

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

t.test('a leader that is killed is replaced, after it would have stopped', async (t) => {
  // Ten seconds of theirs are one of ours.
  const clock: Clock = {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * 10,
    sleep: (ms, signal) => systemClock.sleep(ms / 10, signal),
  }
  let dead = false
  const mortal = observed(client, () => {
    if (dead) throw new Error('dead')
  })
  const terms: { identity: string; from: number; to: number | undefined }[] = []
  const stop = new AbortController()
  const stand = (identity: string, by = client) =>
    createLeaderElection({
      lease: createLeaseStore(by, 'kube-system', 'killed'),
      identity,
      clock,
      random: Math.random,
      logger: createLogLines().logger,
    }).run(async (_, signal) => {
      const term = { identity, from: clock.monotonic(), to: undefined as number | undefined }
      terms.push(term)
      await aborted(signal)
      term.to = clock.monotonic()
    }, stop.signal)
  const a = stand('a', mortal)
  await until('the first leads', () => terms.length === 1)
  const b = stand('b')
  await clock.sleep(7_000, signal)
  dead = true
  await until('the second leads', () => terms.length === 2)
  const [first, second] = terms
  t.equal(second?.identity, 'b')
  t.ok((first?.to ?? Number.POSITIVE_INFINITY) < (second?.from ?? 0), 'and has stopped by then, had it lived')
  stop.abort()
  await Promise.all([a, b])
  t.match((await cluster.request('GET', path('killed'))).body, { spec: { leaseTransitions: 1 } })
})
