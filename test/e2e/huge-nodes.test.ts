import t from 'tap'
import { claimAll, HUGE, registerCrowd } from '../fixtures/crowd.ts'
import { prepareReports } from '../fixtures/load.ts'
import { metric } from '../fixtures/metric.ts'
import { loseHeartbeats } from '../fixtures/readiness.ts'
import { until } from '../fixtures/until.ts'
import { deleted, QUICK, verified, watched } from './deletion.ts'
import { lease } from './lease.ts'
import { isInitialized, isShutDown } from './objects.ts'
import { openStage } from './stage.ts'

/** More than the controller has workers, each a Node of 1.3 MB: some 20 MB in all, more than one answer may have. */
const HUGE_NODES = 17

const stage = await openStage(t, { vms: HUGE_NODES + 3 })
const { cluster, nodes, vcsim } = stage
const controller = await stage.controller({ lifecycle: QUICK })
const [off, gone] = await verified(stage, 'off', 'gone')
const fresh = await stage.member('fresh')
if (!off || !gone) throw new Error('there are two')
await watched(stage)

const huge = await registerCrowd(cluster, stage.vms, HUGE)
await claimAll(vcsim, huge)

const served = async (): Promise<void> => {
  await fresh.reportOnce()
  await nodes.until('a Node is initialized', () => isInitialized(nodes.last('fresh')))
  await vcsim.govc('vm.power', '-off', off.vm.name)
  await nodes.until('one is tainted', () => isShutDown(nodes.last('off')))
  await loseHeartbeats(cluster, 'gone')
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deleted(stage, 'gone')
}

t.test(`beside ${HUGE_NODES} Nodes of 20,000 labels others are served, and the Lease is kept`, async (t) => {
  await using load = await prepareReports(cluster, huge)
  await load.write()
  await served()
  const series = (why: string) => metric(controller, `rollcall_nodes_in_slow_lane{why="${why}"}`)
  const [large = 0, slow = 0] = [await series('huge'), await series('slow')]
  t.equal(large + slow, HUGE_NODES)
  t.match(await lease(cluster), { leaseTransitions: 0 })
  t.equal(controller.exit(), undefined)
})

t.test('a new leader can list them', async () => {
  await controller.stop()
  const next = await stage.controller({ identity: 'controller-1', lifecycle: QUICK })
  await until('it counts them', async () => {
    const text = await (await fetch(`${next.url}/metrics`)).text()
    const counts = [...text.matchAll(/^rollcall_nodes_in_slow_lane\{.*\} (\d+)$/gm)].map(([, n]) => Number(n))
    return counts.reduce((sum, n) => sum + n, 0) === HUGE_NODES
  })
})
