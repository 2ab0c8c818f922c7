// The leader is frozen with every proof in hand, and another takes over.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import {
  deleted,
  deletionPending,
  deletionsCounted,
  QUICK,
  verified,
  watched,
  wish,
} from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { isLeading, said, standsBy } from '../world/leadership.ts'
import { countRequests } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'

const LEADER_AGE = 8_000

const stage = await openStage(t, { vms: 3 })
const { cluster, nodes, vcsim } = stage
const lifecycle = { ...QUICK, leaderAge: `${LEADER_AGE}ms` }
const old = await stage.controller({ identity: 'old', lifecycle })
const next = await stage.controller({ identity: 'next', lifecycle, until: 'answering' })
const [gone] = await verified(stage, 'gone', 'canary')
if (gone === undefined) throw new Error('there are two')
await watched(stage)

const deletions = await countRequests(cluster, { verb: 'DELETE', resource: 'nodes' })

t.test('thawed, it deletes nothing, and the other does in its own time', async (t) => {
  await wish(stage, 'gone', 'hold')
  await loseHeartbeats(cluster, 'gone')
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deletionPending(stage, 'gone', {
    status: 'True',
    reason: 'DeletionHeld',
    message: /kept for now: the annotation [^;]*; [^;]*$/,
  })
  await until('the other knows who leads', () => standsBy(next, 'old'))

  old.kill('SIGSTOP')
  // What it lacked to delete the Node waits in its buffers.
  await wish(stage, 'gone', null)
  await until('the other leads', () => isLeading(next))
  const began = Date.parse(said(next, 'leadership begins'))
  old.kill('SIGCONT')
  await until('it stands by', () => standsBy(old, 'next'))
  t.equal(await deletions(), 0)
  t.ok(nodes.last('gone'))

  await deletionPending(stage, 'gone', { status: 'True', reason: 'LeaderTooYoung' })
  await deleted(stage, 'gone')
  t.ok(Date.now() - began >= LEADER_AGE, 'a new leader waits')
  t.equal(await deletions(), 1)
  await deletionsCounted(next, 'main', 1)
  t.ok(nodes.last('canary'))
})
