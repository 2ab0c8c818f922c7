// One that no longer leads deletes nothing.
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { ControllerProcessOptions } from '../world/controller.ts'
import { deletionPending, deletionsCounted, QUICK, wish } from '../world/deletion.ts'
import { isLeading, said, standsBy } from '../world/leadership.ts'
import { countRequests } from '../world/meters.ts'
import { openPlay, type PlayOptions } from '../world/play.ts'
import type { Stage } from '../world/stage.ts'

t.jobs = 2

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
    await deletionsCounted(next, 1)
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
    await deletionsCounted(next, 1)
    t.ok(play.nodes.last('canary'))
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
