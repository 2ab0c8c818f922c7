// The leader hears everything, and its own requests no longer arrive: it cannot know whether it still leads.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startApiProxy } from '../world/api-proxy.ts'
import { deletionPending, deletionsCounted, QUICK, verified, watched, wish } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { isLeading, standsBy } from '../world/leadership.ts'
import { countRequests } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, nodes, vcsim } = stage
const proxy = await startApiProxy(cluster.url)
t.teardown(() => proxy.close())
const lifecycle = { ...QUICK, absentFor: '1s' }
const old = await stage.controller({ identity: 'old', lifecycle, cluster: { ...cluster, url: proxy.url } })
const next = await stage.controller({ identity: 'next', lifecycle, until: 'answering' })
const [gone] = await verified(stage, 'gone', 'canary')
if (gone === undefined) throw new Error('there are two')
await watched(stage)

const deletions = await countRequests(cluster, { verb: 'DELETE', resource: 'nodes' })

t.test('it deletes nothing, not even when what it sent arrives late', async (t) => {
  await until('the other knows who leads', () => standsBy(next, 'old'))
  await wish(stage, 'gone', 'hold')
  await loseHeartbeats(cluster, 'gone')
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deletionPending(stage, 'gone', {
    status: 'True',
    reason: 'DeletionHeld',
    message: /kept for now: the annotation [^;]*; [^;]*$/,
  })

  proxy.set('mute')
  await wish(stage, 'gone', null)
  await until('the other leads', () => isLeading(next))
  t.notOk(await isLeading(old))
  proxy.set('works')
  await until('it stands by', () => standsBy(old, 'next'))
  await nodes.until('the other deletes the Node', () => nodes.last('gone') === undefined)
  t.equal(await deletions(), 1)
  await deletionsCounted(next, 'main', 1)
  t.ok(nodes.last('canary'))
})
