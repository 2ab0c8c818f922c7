import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { createLeaderElection, type Term } from './leader-election.ts'
import { createLeaseStore } from './lease.ts'
import { adminClient } from './testing/cluster-client.ts'
import { createLogLines } from './testing/log-lines.ts'

const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x'
const forever = new AbortController().signal

interface LeaseObject {
  metadata: { resourceVersion: string }
  spec: { holderIdentity: string; renewTime: string; leaseTransitions: number }
}

t.test('a term on a real API server', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const read = async () => (await cluster.request<LeaseObject>('GET', path)).body

  /** Leads for as long as the work takes. */
  async function lead(work: (term: Term) => Promise<void>): Promise<void> {
    const stop = new AbortController()
    const election = createLeaderElection({
      lease: createLeaseStore(client, 'kube-system', 'x'),
      identity: 'a',
      clock: systemClock,
      random: () => 0,
      logger: createLogLines().logger,
    })
    await election.run((term) => work(term), stop.signal)
  }

  await t.test('a confirmation is a new version of the Lease', (t) =>
    lead(async (term) => {
      const before = await read()
      t.same(await Promise.all(Array.from({ length: 50 }, () => term.confirm(forever))), Array(50).fill(true))
      const after = await read()
      t.match(after, { spec: { holderIdentity: 'a', leaseTransitions: before.spec.leaseTransitions } })
      t.ok(after.spec.renewTime > before.spec.renewTime)
    }),
  )

  await t.test('somebody touched it', (t) =>
    lead(async (term) => {
      const merge = { contentType: 'application/merge-patch+json' }
      await cluster.request('PATCH', path, { metadata: { labels: { touched: 'true' } } }, merge)
      t.equal(await term.confirm(forever), true)
    }),
  )

  await t.test('somebody deleted it: it is made again', (t) =>
    lead(async (term) => {
      await cluster.request('DELETE', path)
      t.equal(await term.confirm(forever), true)
      t.match(await read(), { spec: { holderIdentity: 'a' } })
    }),
  )

  await t.test('another took it', (t) =>
    lead(async (term) => {
      const merge = { contentType: 'application/merge-patch+json' }
      const { spec } = await read()
      const taken = { ...spec, holderIdentity: 'b', leaseTransitions: spec.leaseTransitions + 1 }
      await cluster.request('PATCH', path, { spec: taken }, merge)
      t.equal(await term.confirm(forever), false)
      t.match(await read(), { spec: taken }, 'it is left alone')
      t.notOk(term.holds())
    }),
  )
})
