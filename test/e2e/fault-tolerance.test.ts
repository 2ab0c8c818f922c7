// The VMs of a Fault Tolerance group share BIOS UUID and MACs. The primary is the Node's VM, and a failover is no other
// machine.
import t from 'tap'
import { deleted, deletionPending, probed, QUICK, settled, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, events, nodes, reports, vcsim } = stage
const [primary, secondary] = stage.vms
if (!primary || !secondary) throw new Error('there are three')
await vcsim.protect(primary.ref, secondary.ref)
stage.vms.splice(1, 1)

const controller = await stage.controller({ lifecycle: { ...QUICK, maxAbsentShare: '100%' } })
const worker = await stage.member('worker')
const canary = await stage.member('canary')
await Promise.all([worker.reportOnce(), canary.reportOnce()])
const { name } = worker
const bound = () => reports.last(name)?.status?.vm?.moref
const found = () => condition(reports.last(name), 'VMFound')

t.test('the primary is the VM', async (t) => {
  await settled(stage, name, canary.name)
  t.equal(bound(), primary.ref)
  t.equal(reports.last(name)?.status?.identityLevel, 'proven')
  t.match(found(), { status: 'True', reason: 'VMFound' })
  await watched(stage)
})

t.test('the binding follows a failover, and back again', async (t) => {
  const from = { reports: reports.of(name).length, nodes: nodes.of(name).length }
  await vcsim.protect(secondary.ref, primary.ref)
  await reports.until('it is bound to the other', () => bound() === secondary.ref)
  await vcsim.protect(primary.ref, secondary.ref)
  await reports.until('it is bound to the first', () => bound() === primary.ref)
  for (const { object } of reports.of(name).slice(from.reports)) {
    t.equal(object?.status?.identityLevel, 'proven', 'it is the same machine all the time')
    t.equal(object && condition(object, 'VMFound')?.status, 'True')
    t.equal(object && condition(object, 'DeletionPending'), undefined)
  }
  for (const { object } of nodes.of(name).slice(from.nodes)) t.ok(isInitialized(object))
  t.notMatch(JSON.stringify(eventsOf(events, name)), /AmbiguousUUID|UUIDOfAnotherVM|FaultToleranceSecondary/)
})

t.test('the primary is gone, and the secondary is not: the Node is kept', async (t) => {
  await loseHeartbeats(cluster, name)
  await vcsim.hide(primary.ref)
  const wanted = { status: 'Unknown', reason: 'FaultToleranceSecondary' } as const
  const { message } = await deletionPending(stage, name, wanted)
  t.match(message, /Fault Tolerance group without exactly one primary/)
  t.equal(await metric(controller, 'rollcall_vms_missing{vcenter="main"}'), 0)
  t.ok(nodes.last(name))
})

t.test('both are gone: the Node is deleted', async (t) => {
  await vcsim.hide(secondary.ref)
  await probed(stage, 1)
  await deleted(stage, name)
  t.ok(nodes.last(canary.name))
})
