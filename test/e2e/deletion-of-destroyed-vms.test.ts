// A VM is gone beyond doubt: its Node goes.
import t from 'tap'
import { deletionsCounted, eventsOfReason, MISSING, QUICK } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { openPlay } from '../world/play.ts'

// kubernetes/cloud-provider-vsphere#680
t.test('its Node is deleted', async (t) => {
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
  await deletionsCounted(play.leader, 1)
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
