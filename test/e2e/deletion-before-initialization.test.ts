// kubernetes/cloud-provider-vsphere#387
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { deleted, deletionsCounted, eventsOfReason, QUICK, watched } from '../world/deletion.ts'
import { loseHeartbeats, registerNode } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 5 })
const { cluster, events, nodes, reports, vcsim } = stage
const controller = await stage.controller({
  lifecycle: { ...QUICK, absentFor: '2s', maxAbsentShare: '100%' },
})
await stage.crowd(['canary'])

const bound = await stage.member('bound', { addresses: [] })
const unbound = await stage.member('unbound')
const silent = await stage.member('silent')
await bound.reportOnce()
await reports.until(
  'it is verified, and has no address yet',
  () => condition(reports.last(bound.name), 'AddressesResolved')?.reason === 'NoAddress',
)
await watched(stage)
await vcsim.hide(bound.vm.ref, unbound.vm.ref, silent.vm.ref)
// The last word of a machine that is deleted while it starts.
await unbound.reportOnce()
/** One that the CPI initialized, and that no agent has ever reported. */
const migrated = await registerNode(cluster, {
  name: 'migrated',
  biosUUID: unbound.vm.uuid,
  providerID: 'vsphere://420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  taints: [],
})
await loseHeartbeats(cluster, bound.name, unbound.name, silent.name, migrated.name)

t.test('a Node whose report had bound it is deleted', async (t) => {
  t.notOk(isInitialized(nodes.last(bound.name)), 'it was not initialized')
  t.equal(reports.last(bound.name)?.status?.vm?.moref, bound.vm.ref)
  await deleted(stage, bound.name)
  await events.until('it is told', () => eventsOfReason(stage, bound.name, 'NodeDeleted').length > 0)
})

t.test('so is one that no vCenter has ever shown, as its agent has named its VM', async (t) => {
  await events.until('it is told aloud', () => eventsOfReason(stage, unbound.name, 'NoVMWithUUID').length > 0)
  t.match(eventsOfReason(stage, unbound.name, 'NoVMWithUUID'), [
    { message: /no VM with BIOS UUID .* is visible in vCenter main; check that the VM exists/ },
  ])
  await deleted(stage, unbound.name)
  await events.until('it is told', () => eventsOfReason(stage, unbound.name, 'NodeDeleted').length > 0)
  t.match(eventsOfReason(stage, unbound.name, 'NodeDeleted'), [
    { message: new RegExp(`the machine with BIOS UUID ${unbound.vm.uuid} is gone`) },
  ])
})

t.test('one without a report is kept', async (t) => {
  await until('it is counted', async () => {
    return (
      (await metric(controller, 'rollcall_nodes_held_up{condition="Initialized",reason="NoReport"}')) === 1
    )
  })
  t.ok(nodes.last(silent.name))
})

t.test('and one that another provider initialized', async (t) => {
  await events.until('it is told', () => eventsOfReason(stage, migrated.name, 'NotBound').length > 0)
  t.match(eventsOfReason(stage, migrated.name, 'NotBound'), [
    {
      type: 'Warning',
      message: /only that UUID could prove it gone; if it is gone: kubectl delete node migrated/,
    },
  ])
  t.ok(nodes.last(migrated.name))
  t.equal(nodes.of(migrated.name).length, 2, 'as its kubelet and the node lifecycle controller left it')
  await deletionsCounted(controller, 'main', 1)
  await deletionsCounted(controller, 'unknown', 1)
})
