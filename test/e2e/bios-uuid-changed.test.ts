import { randomUUID } from 'node:crypto'
import t from 'tap'
import { deletionPending, deletionsCounted, probed, pushes, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, isShutDown, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// So quick that whatever could be deleted on this ground would be, several times over.
const lifecycle = { absentFor: '1s', confirmations: 2, leaderAge: '0s', maxAbsentMinimum: 3 }
const stage = await openStage(t, { vms: 3 })
const { cluster, nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle })
const [member, witness] = await verified(stage, 'worker', 'witness')
const { name, uid, vm } = member
const found = () => condition(reports.last(name), 'VMFound')
const changed = randomUUID()

t.test('another BIOS UUID on a running VM whose kubelet is silent: kept, and said', async (t) => {
  await pushes(stage)
  await loseHeartbeats(cluster, name, witness.name)
  await vcsim.setState({ vm: vm.ref, uuid: changed })
  t.match(await stage.says(name, 'VMFound', { reason: 'BIOSUUIDChanged' }), {
    status: 'Unknown',
    message: new RegExp(
      `BIOS UUID of .*${vm.name}.* was ${vm.uuid} and is ${changed} now.* set uuid.bios back`,
    ),
  })
  await deletionPending(stage, name, { reason: 'VMExists', status: 'False' })
  await stage.told(name, 'BIOSUUIDChanged')
})

t.test('a Node whose VM is gone goes meanwhile, and this one stays', async (t) => {
  await vcsim.hide(witness.vm.ref)
  await nodes.until('that one is deleted', () => nodes.of(witness.name).at(-1)?.type === 'DELETED')
  await probed(stage, 2)
  t.equal(nodes.last(name)?.metadata.uid, uid)
  t.equal(nodes.last(name)?.spec.providerID, `vsphere://${vm.uuid}`)
  t.equal(level(nodes.last(name)), 'proven', 'what was verified stands')
  t.notOk(isShutDown(nodes.last(name)))
  t.equal(reports.last(name)?.status?.vm?.biosUUID, vm.uuid)
  t.equal(found()?.reason, 'BIOSUUIDChanged')
  await deletionsCounted(controller, 1)
  t.equal(await metric(controller, 'rollcall_vms_missing{vcenter="main"}'), 0, 'it does not count as missing')
})

t.test('it boots with the new one: refused as another VM than its provider ID names, and kept', async (t) => {
  await member.reportAs({ vm: { ...vm, uuid: changed } })
  const verified = () => condition(reports.last(name), 'IdentityVerified')
  await reports.until('it is refused', () => verified()?.reason === 'ProviderIDOfAnotherVM')
  t.equal(verified()?.status, 'False')
  t.equal(nodes.last(name)?.metadata.uid, uid)
  t.equal(nodes.last(name)?.spec.providerID, `vsphere://${vm.uuid}`)
})

t.test('the UUID is set back', async (t) => {
  await member.reportAs({})
  await vcsim.setState({ vm: vm.ref, uuid: vm.uuid })
  await reports.until('it is found', () => found()?.reason === 'VMFound')
  await stage.says(name, 'IdentityVerified', { reason: 'Proven' })
  t.equal(nodes.last(name)?.metadata.uid, uid)
})
