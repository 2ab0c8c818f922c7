/** A webhook on Nodes that is down: the API server answers each write of the controller with 500, for as long as it is. */
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { verified } from '../world/deletion.ts'
import { metric } from '../world/meters.ts'
import { condition, isInitialized, isShutDown } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { startSlowWebhook } from '../world/slow-webhook.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 2 })
const { cluster, nodes, reports, vcsim } = stage
const controller = await stage.controller()
const [running] = await verified(stage, 'running')
const webhook = await startSlowWebhook(cluster, 'true')
t.teardown(() => webhook[Symbol.asyncDispose]())
await webhook.goDown()
const kubeconfig = await cluster.kubeconfig({ user: 'ann', groups: ['system:masters'] })
const told = async (...args: string[]) =>
  (await runProgram('rollcall-controller', ...args, `--kubeconfig=${kubeconfig}`)).text

t.test('a Node that cannot be initialized says so, with the words of the API server', async (t) => {
  await stage.reported('fresh')
  const refused = await stage.says('fresh', 'Initialized', { reason: 'NodePatchRefused' })
  t.match(refused, {
    status: 'False',
    message: /rejects the patch of this Node: .*failed calling webhook "slow\.example\.com".*refused/,
  })
  await stage.told('fresh', 'NodePatchRefused')
  const heldUp = 'rollcall_nodes_held_up{condition="Initialized",reason="NodePatchRefused"}'
  await until('it is counted', async () => (await metric(controller, heldUp)) === 1)
  const text = await told('explain', 'fresh')
  t.match(text, /^Node fresh waits for a cloud provider: NodePatchRefused$/m)
  t.notMatch(text, /no leader has decided/)
})

t.test('doctor, which sees no webhook, says what the leader says', async (t) => {
  t.match(
    await told('doctor', `--config=${controller.configFile}`),
    /^fail +writes of Nodes +1 of 2 Nodes .*\(fresh\): NodePatchRefused: .*slow\.example\.com/m,
  )
})

t.test('of a VM that is off it is not said that its taint keeps pods away', async (t) => {
  const before = Date.now()
  await vcsim.govc('vm.power', '-off', running.vm.name)
  await stage.says('running', 'Initialized', { reason: 'NodePatchRefused' })
  const found = condition(reports.last('running'), 'VMFound')
  t.match(found, {
    reason: 'VMPoweredOff',
    message: /the API server rejected the taint .*, so pods may still be scheduled/,
  })
  t.ok(Date.parse(found?.lastTransitionTime ?? '') > before - 1_000)
  t.match(await told('status'), /running +proven +\S+ +off +VM off +NodePatchRefused/)
  t.notMatch(await told('explain', 'running'), /is removed|are removed/)
})

t.test('when the webhook is gone, all is done and said', async (t) => {
  await webhook[Symbol.asyncDispose]()
  await nodes.until('it is tainted', () => isShutDown(nodes.last('running')))
  await nodes.until('it is initialized', () => isInitialized(nodes.last('fresh')))
  await stage.says('fresh', 'Initialized', { status: 'True' })
  await stage.says('running', 'Initialized', { status: 'True' })
  t.match(condition(reports.last('running'), 'VMFound')?.message, /no new pods are scheduled/)
})
