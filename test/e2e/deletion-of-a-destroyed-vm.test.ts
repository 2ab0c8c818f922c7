// kubernetes/cloud-provider-vsphere#680
import t from 'tap'
import { deleted, deletionsCounted, eventsOfReason, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, events, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: QUICK })
const [gone, other] = await verified(stage, 'gone', 'other')
if (!gone || !other) throw new Error('there are two')
await watched(stage)

t.test('its Node is deleted', async (t) => {
  await loseHeartbeats(cluster, gone.name)
  const start = performance.now()
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deleted(stage, gone.name)
  const took = Math.round(performance.now() - start)
  t.comment(`destroyed to deleted: ${took} ms`)
  t.ok(took >= 3_000, 'not before its time')

  await events.until('it is told', () => eventsOfReason(stage, gone.name, 'NodeDeleted').length === 1)
  t.match(eventsOfReason(stage, gone.name, 'NodeDeleted'), [
    { type: 'Normal', count: 1, message: new RegExp(gone.vm.name), involvedObject: { uid: gone.uid } },
  ])
  t.match(
    condition(reports.last(gone.name), 'DeletionPending'),
    { status: 'True', reason: 'VMGone' },
    'the reason is on record, until the report is collected',
  )
  const logged = controller
    .output()
    .split('\n')
    .filter((line) => line.includes('Node deleted'))
  t.equal(logged.length, 1)
  t.match(logged[0], `"uid":"${gone.uid}"`, 'the log keeps what Event and report lose')
  t.match(logged[0], gone.vm.ref, 'with the VM')
  await deletionsCounted(controller, 'main', 1)
  t.equal(await metric(controller, 'rollcall_vms_missing{vcenter="main"}'), 0)
  t.equal(condition(reports.last(other.name), 'DeletionPending'), undefined, 'nothing is said of the other')
})
