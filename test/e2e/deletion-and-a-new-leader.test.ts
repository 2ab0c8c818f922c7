// A leader's count is its own; the next one starts over, and deletes nothing before it has led for a while.
import t from 'tap'
import type { Controller } from '../world/controller.ts'
import { deleted, deletionPending, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { openStage } from '../world/stage.ts'

const ABSENT_FOR = 3_000
const LEADER_AGE = 9_000
const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, vcsim } = stage
const lifecycle = { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' }
const first = await stage.controller({ identity: 'first', lifecycle })
const [one, other] = await verified(stage, 'one', 'other', 'canary')
if (!one || !other) throw new Error('there are three')
await watched(stage)
await loseHeartbeats(cluster, one.name, other.name)

/** Milliseconds from the beginning of its leadership to the end of a Node. */
function ledUntil({ stderr }: Controller, name: string): number {
  const line = stderr.find((each) => each.includes('leadership begins')) ?? '{}'
  const { time }: { time: string } = JSON.parse(line)
  return performance.timeOrigin + (nodes.of(name).at(-1)?.at ?? 0) - Date.parse(time)
}

t.test('one that takes over in the middle begins anew', async (t) => {
  await vcsim.hide(one.vm.ref)
  await deletionPending(stage, one.name, { status: 'True', reason: 'NotConfirmed' })
  await first.stop()
  await vcsim.resetCalls()
  const second = await stage.controller({ identity: 'second', lifecycle })
  await deleted(stage, one.name)
  t.ok(ledUntil(second, one.name) >= ABSENT_FOR, `after ${ledUntil(second, one.name)} ms`)
  t.ok(((await vcsim.calls()).operations.HasPrivilegeOnEntities ?? 0) >= QUICK.confirmations)
  await second.stop()
})

t.test('one that is young deletes nothing', async (t) => {
  await vcsim.hide(other.vm.ref)
  const third = await stage.controller({
    identity: 'third',
    lifecycle: { ...lifecycle, leaderAge: `${LEADER_AGE}ms` },
  })
  const message =
    /is gone, and the Node is kept for now: this controller must lead for 9s first \(lifecycle\.leaderAge\)$/
  await deletionPending(stage, other.name, { status: 'True', reason: 'LeaderTooYoung', message })
  await deleted(stage, other.name)
  const led = ledUntil(third, other.name)
  t.ok(led >= LEADER_AGE, `after ${led} ms`)
})
