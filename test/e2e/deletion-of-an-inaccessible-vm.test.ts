// kubernetes/cloud-provider-vsphere#642, #650
import t from 'tap'
import type { VcsimVM } from '../servers/control.ts'
import { deletionPending, probed, QUICK, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, nodes, reports, vcsim } = stage

/** As users see a VM whose datastore is away: without its UUID, so that no search finds it. */
const loseStorage = (vm: VcsimVM) =>
  vcsim.setState({ vm: vm.ref, connectionState: 'inaccessible', powerState: 'poweredOff', uuid: '' })
const regainStorage = (vm: VcsimVM) =>
  vcsim.setState({ vm: vm.ref, connectionState: 'connected', powerState: 'poweredOn', uuid: vm.uuid })

t.test('a storage outage, in which the controller restarts', async (t) => {
  const before = await stage.controller({ identity: 'before', lifecycle: QUICK })
  const [member, other] = await verified(stage, 'worker', 'other')
  if (!member || !other) throw new Error('there are two')
  await loseStorage(member.vm)
  await loseHeartbeats(cluster, member.name)

  await t.test('the controller that knew it says so, and concludes nothing', async (t) => {
    await reports.until(
      'it is told',
      () => condition(reports.last(member.name), 'VMFound')?.reason === 'VMNotConnected',
    )
    t.match(condition(reports.last(member.name), 'VMFound'), {
      status: 'Unknown',
      message: /inaccessible.*the Node is kept/,
    })
    t.equal(await metric(before, 'rollcall_vms_missing{vcenter="main"}'), 0)
  })
  await before.stop()

  await t.test('the next, whose search does not find it, asks for it by reference', async (t) => {
    const after = await stage.controller({ identity: 'after', lifecycle: QUICK })
    const { message } = await deletionPending(stage, member.name, { status: 'False', reason: 'VMExists' })
    t.match(message, /is kept: VM ".+" \(vm-\d+, inaccessible\) is found by reference/)
    t.match(condition(reports.last(member.name), 'VMFound'), {
      status: 'Unknown',
      reason: 'VMNotSearchable',
      message: /inaccessible/,
    })
    await probed(stage, 2)
    t.ok(nodes.last(member.name), 'kept, though asked often enough')
    t.equal(await metric(after, 'rollcall_vms_missing{vcenter="main"}'), 0, 'it counts for no brake')
    t.equal(await metric(after, 'rollcall_nodes_deleted_total{vcenter="main"}'), 0)
  })

  await t.test('the storage is back', async (t) => {
    await regainStorage(member.vm)
    await reports.until(
      'it is found',
      () => condition(reports.last(member.name), 'VMFound')?.status === 'True',
    )
    t.equal(reports.last(member.name)?.status?.identityLevel, 'proven')
    const versions = nodes.of(member.name).map(({ object }) => object)
    t.equal(new Set(versions.map(({ spec }) => spec.taints?.length ?? 0)).size, 2, 'no taint but the first')
    t.equal(condition(reports.last(other.name), 'DeletionPending'), undefined)
  })
})
