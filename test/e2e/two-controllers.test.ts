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

t.test(
  'frozen for longer than its Lease: the other leads, and the first one notices when it wakes',
  async (t) => {
    const c = await stage.controller({ identity: 'c', until: 'answering' })
    await until('c knows who leads', () => standsBy(c, 'b'))
    b.kill('SIGSTOP')
    t.match(await lease(cluster), { leaseDurationSeconds: 15 })
    await until('the other one leads', () => isLeading(c))
    await stage.initialized('third')
    b.kill('SIGCONT')
    await until('b stands by', () => standsBy(b, 'c'))
    t.equal(nodes.of('third').length, 3, 'two writes, of one of them')
    t.match(await lease(cluster), { holderIdentity: /^c_/, leaseTransitions: 2 })

    await t.test('kill -9: the other takes over when the Lease has run out', async (t) => {
      c.kill('SIGKILL')
      await c.ended
      t.match(await lease(cluster), { leaseDurationSeconds: 15 })
      await until('the other one leads', () => isLeading(b))
      await leases.until('it is recorded', () => holders().at(-1) === 'b')
      t.same(holders(), ['a', '', 'b', 'c', 'b'], 'neither the frozen nor the dead gave it back')
      await stage.initialized('fourth')
      t.equal(nodes.of('fourth').length, 3)
      t.match(await lease(cluster), { holderIdentity: /^b_/, leaseTransitions: 3 })
    })
  },
)

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
