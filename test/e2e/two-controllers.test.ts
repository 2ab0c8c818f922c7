import t from 'tap'
import { until } from '../fixtures/until.ts'
import { isLeading, lease, standsBy } from '../world/leadership.ts'
import { metric } from '../world/meters.ts'
import { type AnyObject, record } from '../world/recorder.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 6 })
const { cluster, nodes, vcsim } = stage

const leases = await record<AnyObject & { spec: { holderIdentity: string } }>(
  cluster,
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases',
)
t.teardown(() => leases.close())
const a = await stage.controller({ identity: 'a' })
const b = await stage.controller({ identity: 'b', until: 'answering' })
await until('b knows who leads', () => standsBy(b, 'a'))

t.test('one leads, the other stands by and keeps away from vCenter', async (t) => {
  t.ok(await standsBy(b, 'a'))
  t.ok(await b.isReady(), 'a standby is ready')
  t.equal(await metric(a, 'rollcall_leader'), 1)
  t.equal(await metric(b, 'rollcall_leader'), 0)
  await stage.initialized('first')
  t.equal(nodes.of('first').length, 3)
  t.match(await vcsim.sessions(), { soap: 1 })
})

t.test('SIGTERM: the Lease is given back, and the other need not wait until it has run out', async (t) => {
  const ended = a.stop()
  await until('the other one leads', () => isLeading(b))
  t.equal((await ended).code, 0)
  await leases.until('it is recorded', () => holders().at(-1) === 'b')
  t.same(holders(), ['a', '', 'b'])
  t.match(await lease(cluster), { holderIdentity: /^b_/, leaseTransitions: 1 })
  await stage.initialized('second')
  t.equal(nodes.of('first').length, 3, 'what was done is left alone')
  t.match(await vcsim.sessions(), { soap: 1, rest: 1 })
})

/** Who held the Lease, one after the other; the empty text is nobody, who gave it back. */
function holders(): string[] {
  return leases
    .of('rollcall-controller')
    .map(({ object }) => object.spec.holderIdentity.replace(/_.*/, ''))
    .filter((holder, i, all) => holder !== all[i - 1])
}

t.test('one that may not read its Lease does not say that nobody leads', async (t) => {
  const other = await stage.controller(
    { identity: 'other', until: 'answering', args: ['--lease-name=other'] },
    t,
  )
  await other.says(/lease not written/)
  t.match(await other.readyz(), /^standby; the leader is unknown: /)
})
