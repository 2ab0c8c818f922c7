import t from 'tap'
import { until } from '../fixtures/until.ts'
import { claimAll, prepareReports, registerCrowd } from '../world/crowd.ts'
import { deleted, eventsOfReason, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { lease } from '../world/leadership.ts'
import { metric } from '../world/meters.ts'
import { condition, isInitialized, isShutDown } from '../world/objects.ts'
import { startSlowWebhook } from '../world/slow-webhook.ts'
import { openStage } from '../world/stage.ts'

/** More than the controller has workers. */
const SLOW_NODES = 20

const stage = await openStage(t, { vms: SLOW_NODES + 3 })
const { cluster, events, nodes, reports, vcsim } = stage
const controller = await stage.controller({ lifecycle: QUICK })
const [off, gone] = await verified(stage, 'off', 'gone')
const fresh = await stage.member('fresh')
await watched(stage)
const webhook = await startSlowWebhook(cluster, "object.metadata.name.startsWith('node-')")
t.teardown(() => webhook[Symbol.asyncDispose]())
const slow = await registerCrowd(cluster, stage.vms)
const inLane = () => metric(controller, 'rollcall_nodes_in_slow_lane{why="slow"}')
const said = (name: string) => condition(reports.last(name), 'Initialized')

t.test('Nodes that a webhook holds up say so, and are written two at a time', async (t) => {
  await claimAll(vcsim, slow)
  await using load = await prepareReports(cluster, slow)
  await load.write()
  await reports.until('each says so', () => slow.every(({ name }) => said(name)?.reason === 'NodeWritesSlow'))
  t.equal(await inLane(), SLOW_NODES)
  for (const { name } of slow) {
    t.match(said(name), {
      status: 'Unknown',
      message: /slow to write this Node: no answer within \d+ s; look/,
    })
    await events.until('it is told', () => eventsOfReason(stage, name, 'NodeWritesSlow').length > 0)
    t.match(eventsOfReason(stage, name, 'NodeWritesSlow'), [{ type: 'Warning', count: 1 }])
  }
  await until('the first attempts are given up', () => webhook.held() <= 2)
  webhook.mostHeld()
})

t.test('meanwhile another Node is initialized, one is tainted, one is deleted', async (t) => {
  await until('the lane is full', () => webhook.held() === 2)
  await fresh.reportOnce()
  await nodes.until('it is initialized', () => isInitialized(nodes.last('fresh')))
  await vcsim.govc('vm.power', '-off', off.vm.name)
  await nodes.until('it is tainted', () => isShutDown(nodes.last('off')))
  await loseHeartbeats(cluster, 'gone')
  await vcsim.govc('vm.destroy', gone.vm.name)
  await deleted(stage, 'gone')
  t.notOk(
    slow.some(({ name }) => isInitialized(nodes.last(name))),
    'the slow ones wait',
  )
  t.equal(await inLane(), SLOW_NODES)
  t.equal(webhook.mostHeld(), 2, 'never more')
  t.match(await lease(cluster), { leaseTransitions: 0 })
})

t.test('they are initialized when the webhook answers', async (t) => {
  webhook.release()
  await nodes.until('all are', () => slow.every(({ name }) => isInitialized(nodes.last(name))))
  await reports.until('they say so', () => slow.every(({ name }) => said(name)?.status === 'True'))
  await until('none is slow any more', async () => (await inLane()) === 0)
  t.match(await lease(cluster), { leaseTransitions: 0 })
  t.equal(controller.exit(), undefined)
})
