// Many VMs vanish at once: an old backup was restored, or the inventory is still being loaded. The brake outlives the
// controller, and a person lets Nodes go with what it says.
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { BRAKE, DELETED, deleted, deletionPending, heldByBrake, QUICK, wish } from '../world/deletion.ts'
import { openPlay } from '../world/play.ts'

const namesOf = (members: readonly CrowdMember[]) => members.map(({ name }) => name)

t.test('a person who knows that VMs are gone lets their Nodes go', async (t) => {
  const play = await openPlay(t, 10, { ...QUICK, deletionsPerMinute: 3 })
  const [one = '', ...others] = namesOf(play.members.slice(0, 5))
  const [other = ''] = others
  await play.vanish(...play.members.slice(0, 5))

  await t.test('until then they are held, also by the next controller', async (t) => {
    const engagedAt = () => [one, ...others].map((name) => play.reports.last(name)?.status?.brakeEngagedAt)
    await heldByBrake(play, one, ...others)
    const ready = await fetch(`${play.leader.url}/readyz`)
    t.match([ready.status, await ready.text()], [200, 'leading'], 'readiness is another thing')
    const before = engagedAt()
    t.ok(
      before.every((at) => at !== undefined),
      'on record',
    )
    await play.nextLeader({ identity: 'second' })
    await until('it is engaged again', async () => (await play.count(BRAKE)) === 1)
    await heldByBrake(play, one, ...others)
    t.same(engagedAt(), before, 'as it was')
    t.equal(play.kept(), 10)
  })

  await t.test('one Node goes, the others stay', async (t) => {
    await wish(play, one, 'proceed')
    const start = performance.now()
    await deleted(play, one)
    t.comment(`annotated to deleted: ${(performance.now() - start).toFixed()} ms`)
    // They are looked at again, as if something had happened.
    await wish(play, other, 'hold')
    await deletionPending(play, other, { status: 'True', reason: 'DeletionHeld' })
    await wish(play, other, null)
    await heldByBrake(play, ...others)
    t.equal(play.kept(), 9)
    t.equal(await play.count(BRAKE), 1)
    t.equal(await play.count(DELETED), 1)
  })

  await t.test('all go by one command, and no more in a minute than are allowed', async (t) => {
    const { message } = await deletionPending(play, other, { reason: 'BrakeEngaged' })
    const [, command = ''] = /or that of all Nodes that it holds: (kubectl .*)$/.exec(message) ?? []
    const env = {
      PATH: `${dirname(await serverBinary('kubectl'))}:/usr/bin:/bin`,
      KUBECONFIG: play.cluster.adminKubeconfig,
      HOME: play.dir,
    }
    // No garbage collector runs here: it complains of the report of the Node that is gone already.
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `${command} || true`], { env })
    for (const name of others) t.match(stdout, `node/${name} annotated`)
    await play.nodes.until('two more are deleted', () => play.kept() === 7)
    for (const name of others.filter((name) => play.nodes.last(name) !== undefined)) {
      const message = /is kept for now: lifecycle.deletionsPerMinute is 3, and that many/
      await deletionPending(play, name, { status: 'True', reason: 'RateLimited', message })
    }
    t.equal(play.kept(), 7)
    t.equal(await play.count(BRAKE), 0)
    t.equal(await play.count(DELETED), 3)
  })
})
