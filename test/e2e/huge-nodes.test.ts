import t from 'tap'
import { TAINT_UNINITIALIZED } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { claimAll, HUGE, prepareReports, registerCrowd } from '../world/crowd.ts'
import { deleted, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { lease } from '../world/leadership.ts'
import { metric } from '../world/meters.ts'
import { isInitialized, isShutDown } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

/** More than the controller has workers, each a Node of 1.3 MB: some 20 MB in all, more than one answer may have. */
const HUGE_NODES = 17
const MANY_TAINTS = [
  { key: TAINT_UNINITIALIZED, effect: 'NoSchedule' },
  ...Array.from({ length: 3_000 }, (_, i) => ({ key: `example.com/taint-${i}`, effect: 'PreferNoSchedule' })),
]

const stage = await openStage(t, { vms: HUGE_NODES + 4 })
const { cluster, nodes, vcsim } = stage
const controller = await stage.controller({ lifecycle: QUICK })
const [off, gone] = await verified(stage, 'off', 'gone')
const fresh = await stage.member('fresh')
await watched(stage)

const [spare] = stage.vms.splice(0, 1)
if (!spare) throw new Error('no VM is left')
const huge = await registerCrowd(cluster, stage.vms, { labels: HUGE })
await claimAll(vcsim, huge)

t.test(`beside ${HUGE_NODES} Nodes of 20,000 labels others are served, and the Lease is kept`, async (t) => {
  await using load = await prepareReports(cluster, huge)
  await load.write()
  await fresh.reportOnce()
  await nodes.until('a Node is initialized', () => isInitialized(nodes.last('fresh')))
  await vcsim.govc('vm.power', '-off', off.vm.name)
  await nodes.until('one is tainted', () => isShutDown(nodes.last('off')))
  await loseHeartbeats(cluster, 'gone')
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deleted(stage, 'gone')
  const series = (why: string) => metric(controller, `rollcall_nodes_in_slow_lane{why="${why}"}`)
  const [large = 0, slow = 0] = [await series('huge'), await series('slow')]
  t.equal(large + slow, HUGE_NODES)
  t.match(await lease(cluster), { leaseTransitions: 0 })
  t.equal(controller.exit(), undefined)
})

t.test('a Node that its kubelet registers with 3,000 taints is initialized, and keeps them', async (t) => {
  const tainted = await stage.member('tainted', { vm: spare, taints: MANY_TAINTS })
  await tainted.reportOnce()
  await nodes.until('it is initialized', () => isInitialized(nodes.last('tainted')))
  const kept = nodes.last('tainted')?.spec.taints?.filter(({ key }) => key.startsWith('example.com/'))
  t.equal(kept?.length, MANY_TAINTS.length - 1)
})

t.test('a new leader can list them', async () => {
  await controller.stop()
  const next = await stage.controller({ identity: 'controller-1', lifecycle: QUICK })
  await until('it counts them', async () => {
    const text = await next.metrics()
    const counts = [...text.matchAll(/^rollcall_nodes_in_slow_lane\{.*\} (\d+)$/gm)].map(([, n]) => Number(n))
    return counts.reduce((sum, n) => sum + n, 0) >= HUGE_NODES
  })
})
