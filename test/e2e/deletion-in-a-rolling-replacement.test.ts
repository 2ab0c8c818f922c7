// Cluster API replaces all workers, one after the other; most Nodes are deleted by it, some by Rollcall before it.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import {
  BRAKE,
  brakeEvents,
  deletionPending,
  eventsOfReason,
  missing,
  QUICK,
  settled,
  verified,
  watched,
} from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import type { Member } from '../world/member.ts'
import { metric } from '../world/meters.ts'
import { isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const WORKERS = ['worker-1', 'worker-2', 'worker-3', 'worker-4'] as const
/** Those whose Machines wait for long: their Nodes are missing at the same time, and are for Rollcall to delete. */
const SLOW: readonly string[] = ['worker-2', 'worker-3']
// What vanishes within a fifth of absentFor vanishes at once, and within five seconds at least. A new machine takes longer.
const APART = 8_000

const stage = await openStage(t, { vms: 10 })
const { cluster, events, nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: { ...QUICK, absentFor: '25s' } })
const old = (await verified(stage, 'control-plane', ...WORKERS)).slice(1)
await watched(stage)

/** `kubectl drain`, of a Node without Pods. */
const cordon = (name: string) => stage.patch(name, { spec: { unschedulable: true } })

/**
 * What becomes of a Machine that is deleted, in the order of Cluster API's Machine controller (`reconcileDelete`): its Node
 * is drained, its VM is powered off and destroyed, and when that is gone its Node is deleted.
 */
async function deleteMachine({ name, vm }: Member): Promise<void> {
  await cordon(name)
  await vcsim.govc('vm.power', '-off', '-force', vm.name)
  await vcsim.govc('vm.destroy', vm.name)
  if (name === 'worker-1') return await deleteNode(name)
  await loseHeartbeats(cluster, name)
  if (SLOW.includes(name)) return await missing(stage, name)
  await deletionPending(stage, name, { reason: 'NotConfirmed' })
  await deleteNode(name)
}

/** Cluster API minds no Node that is gone already. */
async function deleteNode(name: string): Promise<void> {
  const { status } = await cluster.request('DELETE', `/api/v1/nodes/${name}`)
  if (status !== 200 && status !== 404) throw new Error(`Node ${name} is not deleted: ${status}`)
}

t.test('all workers are replaced without a person', async (t) => {
  for (const [index, machine] of old.entries()) {
    if (index > 0) await sleep(APART)
    const next = await stage.reported(`new-${index + 1}`)
    await settled(stage, next.name)
    await deleteMachine(machine)
  }
  await nodes.until('the former Nodes are gone', () =>
    old.every(({ name }) => nodes.last(name) === undefined),
  )
  await events.until('Rollcall has deleted those that nobody else did', () =>
    SLOW.every((name) => eventsOfReason(stage, name, 'NodeDeleted').length === 1),
  )
  for (const index of old.keys())
    t.ok(isInitialized(nodes.last(`new-${index + 1}`)), `new-${index + 1} stays`)
  t.ok(nodes.last('control-plane'))

  const latched = reports.versions.filter(({ object }) => object.status?.brakeEngagedAt !== undefined)
  t.same(
    latched.map(({ object }) => object.metadata.name),
    [],
  )
  for (const { name } of old) t.same(brakeEvents(stage, name), [], name)
  t.equal(await metric(controller, BRAKE), 0)
})
