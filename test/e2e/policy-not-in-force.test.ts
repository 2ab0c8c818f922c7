import t from 'tap'
import { until } from '../fixtures/until.ts'
import { applyManifests } from '../servers/manifests.ts'
import { condition, eventsOf, level } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, reports, events } = stage
const binding =
  '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/own-report.rollcall.dev'

const first = await stage.controller()
const running = await stage.initialized('running')
await reports.until(
  'and says so',
  () => condition(reports.last(running.name), 'Initialized')?.status === 'True',
)
await first.stop()
const before = { node: nodes.last(running.name), report: reports.last(running.name) }

await cluster.request('DELETE', binding)
const probe = { ...before.report, metadata: { name: 'forged' } }
await until('anybody can write reports', async () => {
  const path = '/apis/rollcall.dev/v1alpha1/nodereports?dryRun=All'
  return (await cluster.request('POST', path, probe)).status === 201
})
const controller = await stage.controller({ identity: 'controller-1', until: 'answering' })
const newcomer = await stage.member('newcomer')

t.test('nothing is verified while reports can be forged, and that is said', async (t) => {
  await newcomer.reportOnce()
  const current = () => condition(reports.last(newcomer.name), 'IdentityVerified')
  await reports.until('the newcomer is told', () => current()?.reason === 'PolicyNotInForce')
  t.match(current(), { status: 'Unknown', message: /policy-own-report\.yaml/ })
  t.match(condition(reports.last(newcomer.name), 'Initialized'), {
    status: 'False',
    reason: 'PolicyNotInForce',
  })
  await events.until('by an Event as well', () =>
    eventsOf(events, newcomer.name).some(({ reason }) => reason === 'PolicyNotInForce'),
  )
  t.equal(nodes.of(newcomer.name).length, 1, 'its Node was not touched')
  const readyz = await fetch(`${controller.url}/readyz`)
  t.equal(readyz.ok, false)
  t.match(await readyz.text(), /reports may be forged/)
  t.match(await (await fetch(`${controller.url}/metrics`)).text(), /^rollcall_policy_in_force 0$/m)
})

t.test('what was verified before stays as it is', async (t) => {
  t.same(nodes.last(running.name), before.node)
  t.same(reports.last(running.name), before.report)
})

t.test('when the policy is back, all goes on by itself', async (t) => {
  await applyManifests(cluster, ['policy-own-report.yaml'])
  await nodes.until('the newcomer is initialized', () => level(nodes.last(newcomer.name)) === 'proven')
  await until('the controller is ready', async () => (await fetch(`${controller.url}/readyz`)).ok)
  t.match(await (await fetch(`${controller.url}/metrics`)).text(), /^rollcall_policy_in_force 1$/m)
})
