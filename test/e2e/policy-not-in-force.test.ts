import t from 'tap'
import { until } from '../fixtures/until.ts'
import { applyManifests } from '../servers/manifests.ts'
import { condition, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports } = stage
const first = await stage.controller()
const running = await stage.initialized('running')
await first.stop()
const before = { node: nodes.last(running.name), report: reports.last(running.name) }

const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings'
await cluster.request('DELETE', `${bindings}/own-report.rollcall.dev`)
const probe = { ...before.report, metadata: { name: 'forged' } }
await until('anybody can write reports', async () => {
  const path = '/apis/rollcall.dev/v1alpha1/nodereports?dryRun=All'
  return (await cluster.request('POST', path, probe)).status === 201
})
const controller = await stage.controller({ identity: 'controller-1', until: 'answering' })
const newcomer = await stage.member('newcomer')

t.test('nothing is verified while reports can be forged, and that is said', async (t) => {
  await newcomer.reportOnce()
  t.match(await stage.says(newcomer.name, 'IdentityVerified', { reason: 'PolicyNotInForce' }), {
    status: 'Unknown',
    message: /policy-own-report\.yaml/,
  })
  t.match(condition(reports.last(newcomer.name), 'Initialized'), {
    status: 'False',
    reason: 'PolicyNotInForce',
  })
  await stage.told(newcomer.name, 'PolicyNotInForce')
  t.equal(nodes.of(newcomer.name).length, 1, 'its Node was not touched')
  t.notOk(await controller.isReady())
  t.match(await controller.readyz(), /reports may be forged/)
  t.match(await controller.metrics(), /^rollcall_policy_in_force 0$/m)
})

t.test('what was verified before stays as it is', async (t) => {
  t.same(nodes.last(running.name), before.node)
  t.same(reports.last(running.name), before.report)
})

t.test('when the policy is back, all goes on by itself', async (t) => {
  await applyManifests(cluster, ['policy-own-report.yaml'])
  await nodes.until('the newcomer is initialized', () => level(nodes.last(newcomer.name)) === 'proven')
  await until('the controller is ready', () => controller.isReady())
  t.match(await controller.metrics(), /^rollcall_policy_in_force 1$/m)
})
