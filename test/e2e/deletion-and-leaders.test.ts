// A leader's count is its own: the next one starts over, and one that no longer leads deletes nothing.
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { Controller, ControllerProcessOptions } from '../world/controller.ts'
import { deletionPending, deletionsCounted, QUICK, wish } from '../world/deletion.ts'
import { isLeading, said, standsBy } from '../world/leadership.ts'
import { countRequests } from '../world/meters.ts'
import { openPlay, type PlayOptions } from '../world/play.ts'
import type { Stage } from '../world/stage.ts'

t.jobs = 3

t.test(
  'one that takes over in the middle begins anew; one that is young waits',
  { buffered: true },
  async (t) => {
    const [absentFor, leaderAge] = [3_000, 9_000]
    const lifecycle = { ...QUICK, absentFor: `${absentFor}ms`, maxAbsentShare: '100%' }
    const play = await openPlay(t, ['one', 'other', 'canary'], lifecycle)
    const { one, other } = play.cast

    /** Milliseconds from the beginning of its leadership to the end of a Node. */
    function ledUntil(controller: Controller, name: string): number {
      const ended = performance.timeOrigin + (play.nodes.of(name).at(-1)?.at ?? 0)
      return ended - Date.parse(said(controller, 'leadership begins'))
    }

    await play.vanish(one)
    await deletionPending(play, one.name, { status: 'True', reason: 'NotConfirmed' })
    await play.leader.stop()
    await play.vcsim.resetCalls()
    const second = await play.nextLeader({ identity: 'second' })
    await play.ends(one)
    t.ok(ledUntil(second, one.name) >= absentFor, `after ${ledUntil(second, one.name)} ms`)
    t.ok(((await play.vcsim.calls()).operations.HasPrivilegeOnEntities ?? 0) >= QUICK.confirmations)
    await second.stop()

    await play.vanish(other)
    const third = await play.nextLeader({
      identity: 'third',
      lifecycle: { ...lifecycle, leaderAge: `${leaderAge}ms` },
    })
    const message =
      /is gone, and the Node is kept for now: this controller must lead for 9s first \(lifecycle\.leaderAge\)$/
    await deletionPending(play, other.name, { status: 'True', reason: 'LeaderTooYoung', message })
    await play.ends(other)
    t.ok(ledUntil(third, other.name) >= leaderAge, `after ${ledUntil(third, other.name)} ms`)
  },
)

/** A leader that has every proof in hand, and is held by a person's wish alone; another stands by. */
async function proven(
  t: Test,
  lifecycle: NonNullable<ControllerProcessOptions['lifecycle']>,
  controller?: PlayOptions['controller'],
) {
  const play = await openPlay(t, ['gone', 'canary'], lifecycle, {
    vms: 3,
    controller: async (stage) => ({ identity: 'old', ...(await controller?.(stage)) }),
  })
  const next = await play.controller({ identity: 'next', lifecycle, until: 'answering' })
  const deletions = await countRequests(play.cluster, { verb: 'DELETE', resource: 'nodes' })
  await until('the other knows who leads', () => standsBy(next, 'old'))
  await wish(play, 'gone', 'hold')
  await play.destroy(play.cast.gone)
  await deletionPending(play, 'gone', {
    status: 'True',
    reason: 'DeletionHeld',
    message: /kept for now: the annotation [^;]*; [^;]*$/,
  })
  return { ...play, old: play.leader, next, deletions }
}

t.test(
  'cut off, it deletes nothing, not even when what it sent arrives late',
  { buffered: true },
  async (t) => {
    let proxy: Awaited<ReturnType<Stage['line']>> | undefined
    const play = await proven(t, QUICK, async ({ line }) => {
      proxy = await line()
      return { cluster: proxy.cluster }
    })
    const { old, next } = play
    // It hears everything, and its own requests no longer arrive: it cannot know whether it still leads.
    proxy?.set('mute')
    await wish(play, 'gone', null)
    await until('the other leads', () => isLeading(next))
    t.notOk(await isLeading(old))
    proxy?.set('works')
    await until('it stands by', () => standsBy(old, 'next'))
    await play.ends(play.cast.gone)
    t.equal(await play.deletions(), 1)
    await deletionsCounted(next, 'main', 1)
    t.ok(play.nodes.last('canary'))
  },
)

t.test(
  'frozen and thawed, it deletes nothing, and the other in its own time',
  { buffered: true },
  async (t) => {
    const leaderAge = 8_000
    const play = await proven(t, { ...QUICK, leaderAge: `${leaderAge}ms` })
    const { old, next } = play
    old.kill('SIGSTOP')
    // What it lacked to delete the Node waits in its buffers.
    await wish(play, 'gone', null)
    await until('the other leads', () => isLeading(next))
    const began = Date.parse(said(next, 'leadership begins'))
    old.kill('SIGCONT')
    await until('it stands by', () => standsBy(old, 'next'))
    t.equal(await play.deletions(), 0)
    t.ok(play.nodes.last('gone'))

    await deletionPending(play, 'gone', { status: 'True', reason: 'LeaderTooYoung' })
    await play.ends(play.cast.gone)
    t.ok(Date.now() - began >= leaderAge, 'a new leader waits')
    t.equal(await play.deletions(), 1)
    await deletionsCounted(next, 'main', 1)
    t.ok(play.nodes.last('canary'))
  },
)
