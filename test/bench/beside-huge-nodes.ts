/**
 * How long a Node takes to be tainted, initialized and deleted beside Nodes of 20,000 labels that wait to be initialized:
 * `node test/bench/beside-huge-nodes.ts 0 17 50`, with the numbers of those.
 */

import { claimAll, HUGE, prepareReports, registerCrowd } from '../world/crowd.ts'
import { deleted, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { isInitialized, isShutDown } from '../world/objects.ts'
import { endsOf, openStage } from '../world/stage.ts'

/** Seconds; in a deletion, three are those of `absentFor`. */
interface Times {
  readonly taint: number
  readonly initialization: number
  readonly deletion: number
  readonly timesLeadershipWasLost: number
}

async function measure(count: number): Promise<Times> {
  await using stack = new AsyncDisposableStack()
  const stage = await openStage(endsOf(stack), { vms: count + 3 })
  const { cluster, nodes, reports, vcsim } = stage
  const controller = await stage.controller({ lifecycle: QUICK })
  const [off, gone] = await verified(stage, 'off', 'gone')
  const fresh = await stage.member('fresh')
  if (!off || !gone) throw new Error('there are two')
  await watched(stage)
  const huge = await registerCrowd(cluster, stage.vms, { labels: HUGE })
  await claimAll(vcsim, huge)
  await using load = await prepareReports(cluster, huge)
  await load.write()

  const since = (start = performance.now()) => (performance.now() - start) / 1_000
  let start = performance.now()
  await vcsim.govc('vm.power', '-off', off.vm.name)
  await nodes.until('it is tainted', () => isShutDown(nodes.last('off')))
  const taint = since(start)
  await fresh.reportOnce()
  await nodes.until('it is initialized', () => isInitialized(nodes.last('fresh')))
  const initialization = since(reports.of('fresh')[0]?.at)
  await loseHeartbeats(cluster, 'gone')
  start = performance.now()
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deleted(stage, 'gone')
  const deletion = since(start)
  return {
    taint,
    initialization,
    deletion,
    timesLeadershipWasLost: controller.output().split('leadership lost').length - 1,
  }
}

for (const count of process.argv.slice(2).map(Number)) {
  const times = await measure(count)
  const columns = Object.entries(times).map(([what, value]) => `${what} ${value.toFixed(2)}`)
  process.stdout.write(`${count} huge Nodes: ${columns.join(', ')}\n`)
}
