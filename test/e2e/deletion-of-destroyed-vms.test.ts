// VMs are gone beyond doubt: their Nodes go, unless the administrator does not want that. Each scene has its own cluster.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  BRAKE,
  brakeEvents,
  DELETED,
  deletionPending,
  deletionsCounted,
  eventsOfReason,
  MISSING,
  missing,
  QUICK,
  wish,
} from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { openPlay } from '../world/play.ts'

t.jobs = 3

// kubernetes/cloud-provider-vsphere#680
t.test('its Node is deleted', { buffered: true }, async (t) => {
  const play = await openPlay(t, ['gone', 'other'], QUICK, { vms: 3 })
  const { gone } = play.cast
  await loseHeartbeats(play.cluster, gone.name)
  const start = performance.now()
  await play.vcsim.govc('vm.destroy', gone.vm.name)
  await play.ends(gone)
  const took = Math.round(performance.now() - start)
  t.comment(`destroyed to deleted: ${took} ms`)
  t.ok(took >= 3_000, 'not before its time')

  const events = () => eventsOfReason(play, gone.name, 'NodeDeleted')
  await play.events.until('it is told', () => events().length === 1)
  t.match(events(), [
    { type: 'Normal', count: 1, message: new RegExp(gone.vm.name), involvedObject: { uid: gone.uid } },
  ])
  t.match(
    condition(play.reports.last(gone.name), 'DeletionPending'),
    { status: 'True', reason: 'VMGone' },
    'the reason is on record, until the report is collected',
  )
  await deletionsCounted(play.leader, 'main', 1)
  const logged = play.leader
    .output()
    .split('\n')
    .filter((line) => line.includes('Node deleted'))
  t.equal(logged.length, 1)
  t.match(logged[0], `"uid":"${gone.uid}"`, 'the log keeps what Event and report lose')
  t.match(logged[0], gone.vm.ref, 'with the VM')
  t.equal(await play.count(MISSING), 0)
  t.equal(condition(play.reports.last('other'), 'DeletionPending'), undefined, 'nothing is said of the other')
})

t.test('a small cluster, whose workers are destroyed one after the other', { buffered: true }, async (t) => {
  const play = await openPlay(t, 5, { ...QUICK, absentFor: '25s' })
  const workers = play.members.slice(0, 4)
  for (const [index, worker] of workers.entries()) {
    // What vanishes within a fifth of absentFor vanishes at once, and within five seconds at least.
    if (index > 0) await sleep(12_000)
    await play.vanish(worker)
    // The next VM vanishes only after this one is known to be missing: several are at once.
    await missing(play, worker.name)
  }
  await play.ends(...workers)
  for (const { name } of workers) t.same(brakeEvents(play, name), [], name)
  t.same(play.latched(), [], 'the brake never engages')
  t.equal(await play.count(BRAKE), 0)
  t.equal(await play.count(DELETED), 4)
})

t.test('its deletion is not wanted', { buffered: true }, async (t) => {
  const lifecycle = { ...QUICK, absentFor: '1s' }
  const play = await openPlay(t, ['gone', 'canary'], lifecycle, { vms: 3 })
  const { gone } = play.cast
  const { name } = gone
  await play.leader.stop()
  await play.vanish(gone)

  for (const [deletion, reason, why] of [
    ['off', 'DeletionOff', 'lifecycle.deletion is off; delete the Node by hand, or set it to on'],
    ['dry-run', 'DryRun', 'lifecycle.deletion is dry-run; with on, this Node would be deleted now'],
  ] as const)
    await t.test(`lifecycle.deletion is ${deletion}`, async (t) => {
      await play.nextLeader({ identity: deletion, lifecycle: { ...lifecycle, deletion } })
      // Nothing else is missing: what takes time has passed.
      const message = new RegExp(`is gone, and the Node is kept for now: ${why}$`)
      await deletionPending(play, name, { status: 'True', reason, message })
      await play.events.until('it is told', () => eventsOfReason(play, name, reason).length > 0)
      t.equal(eventsOfReason(play, name, reason)[0]?.type, 'Warning')
      t.equal(await play.count(DELETED), 0)
      t.equal(await play.count(`rollcall_node_deletions_pending{status="True",reason="${reason}"}`), 1)
      t.ok(play.nodes.last(name))
    })

  await t.test('a person holds the Node', async (t) => {
    await wish(play, name, 'hold')
    await play.nextLeader({ identity: 'on' })
    const held = new RegExp(
      `is kept for now: the annotation rollcall.dev/deletion=hold keeps it; to let the Node go: kubectl annotate node ${name} rollcall.dev/deletion-$`,
    )
    await deletionPending(play, name, { status: 'True', reason: 'DeletionHeld', message: held })
    await wish(play, name, 'nonsense')
    const unknown = /is neither hold nor proceed \(8 characters\) and counts as hold; [^;]*$/
    await deletionPending(play, name, { status: 'True', reason: 'DeletionHeld', message: unknown })
    t.ok(play.nodes.last(name))

    await wish(play, name, null)
    await play.ends(gone)
  })
})
