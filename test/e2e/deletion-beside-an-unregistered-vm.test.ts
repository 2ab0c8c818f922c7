// A small cluster with the brake as it is by default. Somebody takes a VM off vCenter's list whose machine runs on, and a
// moment later another VM is destroyed.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { deletionPending, metric, QUICK, watched } from '../world/deletion.ts'
import { heartbeat, loseHeartbeats, renewLease } from '../world/kubelet.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED } from './half.ts'

const ABSENT_FOR = 30_000
/** A third of the time within which VMs vanish at once: twenty seconds, where `absentFor` is five minutes. */
const APART = ABSENT_FOR / 15
const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: { ...QUICK, absentFor: `${ABSENT_FOR}ms` } })
const [running, destroyed, ...others] = await stage.crowd(4)
if (running === undefined || destroyed === undefined) throw new Error('there are four')
await watched(stage)

await renewLease(cluster, running.name)
const ending = new AbortController()
const kubelet = (async () => {
  while (!ending.signal.aborted) {
    await heartbeat(cluster, running.name)
    await renewLease(cluster, running.name)
    // sleep() rejects only when the signal aborts.
    await sleep(2_000, undefined, { signal: ending.signal }).catch(() => undefined)
  }
})()
t.teardown(async () => {
  ending.abort()
  await kubelet
})

t.test('the Node of the one that is gone goes, without a person', async (t) => {
  await vcsim.unregister(running.vm.ref)
  await sleep(APART)
  await loseHeartbeats(cluster, destroyed.name)
  await vcsim.destroy(destroyed.vm.ref)
  await nodes.until('it is deleted', () => nodes.last(destroyed.name) === undefined)
  t.equal(await metric(controller, DELETED), 1)
  for (const { name } of [running, destroyed]) {
    const engaged = reports.of(name).filter(({ object }) => object?.status?.brakeEngagedAt !== undefined)
    t.same(engaged, [], 'the brake has engaged for neither')
  }
  t.equal(await metric(controller, BRAKE), 0)
})

t.test('the other ones stay', async (t) => {
  await deletionPending(stage, running.name, { status: 'True', reason: 'NodeReady' })
  for (const { name, uid } of [running, ...others]) t.equal(nodes.last(name)?.metadata.uid, uid, name)
})
