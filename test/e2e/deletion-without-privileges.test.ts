// To an account that may not read, vCenter's search answers "nothing found", not "denied":
// kubernetes-sigs/vsphere-csi-driver#2475
import t from 'tap'
import { deleted, deletionPending, probed, QUICK, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const NODES = 10
const FOLDER = 'workers'
const stage = await openStage(t, { vms: NODES + 1 })
const { cluster, nodes, reports, vcsim } = stage
await vcsim.govc('folder.create', `/DC0/vm/${FOLDER}`)
await vcsim.move({ vm: stage.vms[0]?.ref ?? '', folder: `/DC0/vm/${FOLDER}` })

// The brake is out of the way, so that the proof of privileges is what holds.
const lifecycle = { ...QUICK, absentFor: '2s', maxAbsentShare: '100%' }
const first = await stage.controller({ identity: 'first', lifecycle })
const members = await stage.crowd(NODES)
const [inFolder] = members
if (inFolder === undefined) throw new Error('there are ten')
const names = members.map(({ name }) => name)
await first.stop()
await loseHeartbeats(cluster, ...names)
const versions = () => names.map((name) => nodes.of(name).length)
const kept = () => names.filter((name) => nodes.last(name) !== undefined).length

for (const as of ['fault', 'missingSet'] as const) {
  t.test(`all privileges are lost (${as}), no Node is ready, and the controller starts anew`, async (t) => {
    await vcsim.revoke({ as })
    const before = versions()
    const controller = await stage.controller({ identity: as, lifecycle })
    t.teardown(() => controller.stop())
    for (const { name, vm } of members) {
      const { message } = await deletionPending(stage, name, {
        status: 'Unknown',
        reason: 'PrivilegeMissing',
      })
      const folder = vm === inFolder.vm ? FOLDER : 'vm'
      t.match(message, `the account lacks System.View and System.Read on Folder "${folder}"`)
    }
    await probed(stage, 2 * NODES)
    t.equal(kept(), NODES, 'all are kept')
    t.same(versions(), before, 'and none was written')
    t.equal(await metric(controller, 'rollcall_nodes_deleted_total{vcenter="main"}'), 0)

    await vcsim.restore()
    await Promise.all(
      names.map((name) => deletionPending(stage, name, { status: 'False', reason: 'VMExists' })),
    )
    await reports.until('all are found', () =>
      names.every((name) => condition(reports.last(name), 'VMFound')?.status === 'True'),
    )
    t.equal(kept(), NODES)
    t.same(versions(), before)
  })
}

t.test('those on one folder are lost, and the VM in it is gone', async (t) => {
  const controller = await stage.controller({ identity: 'last', lifecycle })
  t.teardown(() => controller.stop())
  const { name, vm } = inFolder
  await watched(stage)
  await vcsim.revoke({ object: FOLDER })
  await vcsim.hide(vm.ref)
  const { message } = await deletionPending(stage, name, { status: 'Unknown', reason: 'PrivilegeMissing' })
  t.match(message, /lacks System\.View and System\.Read on Folder "workers" \(group-\d+\): give it the role/)
  await probed(stage, 2)
  t.equal(kept(), NODES, 'what is not proven is kept')

  await vcsim.restore()
  await deleted(stage, name)
  t.equal(kept(), NODES - 1)
})
