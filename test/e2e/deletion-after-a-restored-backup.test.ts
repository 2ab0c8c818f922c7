// vCenter is restored from last month's backup: it does not know most VMs, whose machines run on. Two of their Nodes are
// not Ready just then, for reasons of their own.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { deletionPending, eventsOfReason, probed, QUICK, watched } from '../world/deletion.ts'
import { heartbeat, loseHeartbeats, renewLease } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition, type NodeObject } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED } from './half.ts'

const ABSENT_FOR = 4_000
const stage = await openStage(t, { vms: 10 })
const { cluster, events, nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: { ...QUICK, absentFor: `${ABSENT_FOR}ms` } })
const members = await stage.crowd(10)
await watched(stage)
const lost = members.slice(0, 8)
const silent = lost.slice(0, 2)
const living = members.slice(2)
const namesOf = (group: typeof members) => group.map(({ name }) => name)
const pending = (name: string) => condition(reports.last(name), 'DeletionPending')

/** What a Node is to others: its kubelet writes the rest now and then. */
function asOthersSeeIt(node: NodeObject | undefined) {
  return {
    uid: node?.metadata.uid,
    labels: node?.metadata.labels,
    spec: node?.spec,
    at: node?.status.addresses,
  }
}

await Promise.all(namesOf(living).map((name) => renewLease(cluster, name)))
const ending = new AbortController()
/** As kubelets do, each more often than a proof takes. */
const kubelets = (async () => {
  while (!ending.signal.aborted) {
    await Promise.all(
      namesOf(living).map(async (name) => {
        await heartbeat(cluster, name)
        await renewLease(cluster, name)
      }),
    )
    // sleep() rejects only when the signal aborts.
    await sleep(ABSENT_FOR / 8, undefined, { signal: ending.signal }).catch(() => undefined)
  }
})()
t.teardown(async () => {
  ending.abort()
  await kubelets
})
const before = new Map(members.map(({ name }) => [name, asOthersSeeIt(nodes.last(name))]))

t.test('nothing is deleted, and it is said why and what ends it', async (t) => {
  await loseHeartbeats(cluster, ...namesOf(silent))
  await vcsim.hide(...lost.map(({ vm }) => vm.ref))
  // The command is the last that is said: nothing else is missing of the proof.
  const held = (name: string) => ({
    status: 'True' as const,
    reason: 'BrakeEngaged' as const,
    message: new RegExp(
      `kept for now: the deletion brake is engaged: .*: kubectl annotate node ${name} rollcall.dev/deletion=proceed$`,
    ),
  })
  for (const name of namesOf(silent)) {
    const { message } = await deletionPending(stage, name, held(name))
    t.match(message, 'vCenter main does not show the VMs of more machines that run than')
    t.match(message, 'it is released 8s after those VMs are registered again')
    await events.until('it is told aloud', () => eventsOfReason(stage, name, 'BrakeEngaged').length > 0)
  }
  await until('all are missed', async () => {
    return (await metric(controller, 'rollcall_vms_missing{vcenter="main"}')) === lost.length
  })

  // Longer than a brake that only past deletions, or too few, keep engaged would last.
  await sleep(3 * ABSENT_FOR)
  await probed(stage, 2 * lost.length)
  for (const name of namesOf(silent)) await deletionPending(stage, name, held(name))
  t.equal(await metric(controller, DELETED), 0)
  for (const { name, uid } of members) t.equal(nodes.last(name)?.metadata.uid, uid, `${name} is there`)
})

t.test('when the VMs are registered again, all is as before without a person', async (t) => {
  for (const { vm } of lost) await vcsim.register(vm.ref)
  await reports.until('no deletion is pending, and no brake on record', () =>
    namesOf(lost).every(
      (name) => pending(name)?.status === 'False' && reports.last(name)?.status?.brakeEngagedAt === undefined,
    ),
  )
  await until('the brake is released', async () => (await metric(controller, BRAKE)) === 0)
  await until('none is missed', async () => {
    return (await metric(controller, 'rollcall_vms_missing{vcenter="main"}')) === 0
  })
  const morefs = new Map((await vcsim.vms()).map(({ uuid, ref }) => [uuid, ref]))
  await reports.until('each is bound to its VM', () =>
    members.every(({ name, vm }) => reports.last(name)?.status?.vm?.moref === morefs.get(vm.uuid)),
  )
  for (const name of namesOf(silent)) await heartbeat(cluster, name)
  for (const { name } of members) t.same(asOthersSeeIt(nodes.last(name)), before.get(name), name)
  t.equal(await metric(controller, DELETED), 0)
})

t.test('and one VM that is destroyed then loses its Node, as ever', async (t) => {
  const [one] = members.slice(-1)
  if (one === undefined) throw new Error('there are ten')
  ending.abort()
  await kubelets
  await loseHeartbeats(cluster, one.name)
  await vcsim.destroy(one.vm.ref)
  await nodes.until('it is deleted', () => nodes.last(one.name) === undefined)
  t.equal(await metric(controller, DELETED), 1)
})
