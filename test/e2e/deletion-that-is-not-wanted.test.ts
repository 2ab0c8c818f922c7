// A VM is gone beyond doubt, and the administrator does not want its Node deleted.
import t from 'tap'
import { deleted, deletionPending, eventsOfReason, QUICK, verified, wish } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, events, nodes, vcsim } = stage
const lifecycle = { ...QUICK, absentFor: '1s' }
const first = await stage.controller({ identity: 'first', lifecycle })
const [gone] = await verified(stage, 'gone', 'canary')
if (!gone) throw new Error('there are two')
await first.stop()
await loseHeartbeats(cluster, gone.name)
await vcsim.hide(gone.vm.ref)
const { name } = gone

const cases = [
  {
    deletion: 'off',
    reason: 'DeletionOff',
    why: 'lifecycle.deletion is off; delete the Node by hand, or set it to on',
  },
  {
    deletion: 'dry-run',
    reason: 'DryRun',
    why: 'lifecycle.deletion is dry-run; with on, this Node would be deleted now',
  },
] as const

for (const { deletion, reason, why } of cases) {
  t.test(`lifecycle.deletion is ${deletion}`, async (t) => {
    const controller = await stage.controller({ identity: deletion, lifecycle: { ...lifecycle, deletion } })
    t.teardown(() => controller.stop())
    // Nothing else is missing: what takes time has passed.
    const message = new RegExp(`is gone, and the Node is kept for now: ${why}$`)
    await deletionPending(stage, name, { status: 'True', reason, message })
    await events.until('it is told', () => eventsOfReason(stage, name, reason).length > 0)
    t.equal(eventsOfReason(stage, name, reason)[0]?.type, 'Warning')
    t.equal(await metric(controller, 'rollcall_nodes_deleted_total{vcenter="main"}'), 0)
    t.equal(await metric(controller, `rollcall_node_deletions_pending{status="True",reason="${reason}"}`), 1)
    t.ok(nodes.last(name))
  })
}

t.test('a person holds the Node', async (t) => {
  await wish(stage, name, 'hold')
  await stage.controller({ identity: 'on', lifecycle })
  const held = new RegExp(
    `is kept for now: the annotation rollcall.dev/deletion=hold keeps it; to let the Node go: kubectl annotate node ${name} rollcall.dev/deletion-$`,
  )
  await deletionPending(stage, name, { status: 'True', reason: 'DeletionHeld', message: held })
  await wish(stage, name, 'nonsense')
  const unknown = /is neither hold nor proceed \(8 characters\) and counts as hold; [^;]*$/
  await deletionPending(stage, name, { status: 'True', reason: 'DeletionHeld', message: unknown })
  t.ok(nodes.last(name))

  await wish(stage, name, null)
  await deleted(stage, name)
})
