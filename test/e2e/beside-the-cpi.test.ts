/** The vSphere CPI itself runs in the same cluster: first for all, then as a neighbor that leaves Nodes alone. */
import t from 'tap'
import { cpiObject } from '../../controller/cpi/interlock/testing/cpi-object.ts'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest } from '../servers/manifests.ts'
import { vsphereConf } from '../world/controller.ts'
import { startCPI } from '../world/cpi.ts'
import { countRequests, metric } from '../world/meters.ts'
import { isInitialized, level } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { LABELS, openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, vcsim, nodes, reports } = stage

const cpi = await startLeadingCPI()
const controller = await stage.controller({ require: 'asserted', until: 'answering' })
await until('Rollcall has seen the CPI', async () =>
  (await controller.readyz()).includes('Nodes are left to'),
)
const ofCPI = await stage.member('of-cpi', { tools: true })
// VMware Tools say nothing of this VM, which the CPI waits for. Its agent tells Rollcall all.
const waiting = await stage.member('waiting')
await waiting.agent()

t.test('while the CPI leads, Rollcall changes no Node, and says so', async (t) => {
  await nodes.until('the CPI initializes one', () => isInitialized(nodes.last(ofCPI.name)))
  await reports.until(
    'Rollcall knows which VM it is',
    () => reports.last(ofCPI.name)?.status?.identityLevel === 'asserted',
  )
  t.notOk(LABEL_IDENTITY_LEVEL in (nodes.last(ofCPI.name)?.metadata.labels ?? {}), 'but has not touched it')

  t.match(await stage.says(waiting.name, 'Initialized', { reason: 'CPIRuns' }), {
    status: 'False',
    message: /static Pod, or outside the cluster, and stop it/,
  })
  t.notOk(isInitialized(nodes.last(waiting.name)))
  await stage.told(waiting.name, 'CPIRuns')
  t.notOk(await controller.isReady())
  t.match(await controller.readyz(), /kube-system\/cloud-controller-manager.*takes over by itself/)
  t.equal(await metric(controller, 'rollcall_cpi_runs'), 1)
})

const LEFT =
  /^! Nodes are left to the unknown holder of the Lease kube-system\/cloud-controller-manager, .* \(since /m
const said = async (...args: string[]) =>
  (await runProgram('rollcall-controller', ...args, `--kubeconfig=${cluster.adminKubeconfig}`)).text
const told = () => [
  ...new Set(
    stage.events.versions.flatMap(({ object: { metadata, reason, message } }) =>
      reason === 'LeaderTroubled' && message.includes('Nodes are left to') ? [metadata.name] : [],
    ),
  ),
]

t.test('status and explain say so too, and one Event', async (t) => {
  await until('status says it', async () => LEFT.test(await said('status')))
  const explained = await said('explain', ofCPI.name)
  t.match(explained, LEFT)
  t.match(explained, /the other controller stops handling Nodes; until then this one does not change the/)
  t.notMatch(explained, /the Node is tainted|the Node is deleted/)
  await stage.events.until('there is an Event', () => told().length > 0)
})

t.test('the reports still say whether VMs run', async () => {
  const { vm } = ofCPI
  await vcsim.govc('vm.power', '-off', vm.name)
  await stage.says(ofCPI.name, 'VMFound', { reason: 'VMPoweredOff' })
  await vcsim.govc('vm.power', '-on', vm.name)
  await stage.says(ofCPI.name, 'VMFound', { reason: 'VMFound' })
})

t.test('when the CPI has stopped, Rollcall takes over by itself', async (t) => {
  const before = nodes.last(ofCPI.name)
  await cpi.stop()
  await nodes.until('the one that waited is initialized', () => level(nodes.last(waiting.name)) === 'proven')
  await nodes.until("the CPI's is taken over", () => level(nodes.last(ofCPI.name)) === 'asserted')
  const after = nodes.last(ofCPI.name)
  t.same(after?.spec, before?.spec)
  t.same(after?.status.addresses, before?.status.addresses)
  t.same(after?.metadata.labels, { ...before?.metadata.labels, [LABEL_IDENTITY_LEVEL]: 'asserted' })
  await until('it is ready', () => controller.isReady())
  t.equal(await metric(controller, 'rollcall_cpi_runs'), 0)
  await until('status does not say it any more', async () => !LEFT.test(await said('status')))
  t.equal(told().length, 1)
})

t.test('a CPI that leaves Nodes alone is a neighbor', async (t) => {
  const leavesNodes = '--controllers=service,route'
  await applyManifest(cluster, cpiObject([leavesNodes]))
  // Anybody who may run Pods somewhere may claim to be a CPI.
  const pretender = cpiObject(['--leader-elect=false'], { namespace: 'default', name: 'pretender' })
  await applyManifest(cluster, pretender)
  const path = (namespace: string, name: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`
  t.teardown(async () => {
    await cluster.request('DELETE', path('default', 'pretender'))
    await cluster.request('DELETE', path('kube-system', 'cpi'))
  })
  await cluster.request('PATCH', `${path('default', 'pretender')}/status`, {
    status: { currentNumberScheduled: 1, updatedNumberScheduled: 1 },
  })
  const lists = await countRequests(cluster, { verb: 'LIST', resource: 'daemonsets' })
  await startLeadingCPI(leavesNodes)
  await until('Rollcall has looked who leads', async () => (await lists()) > 0)

  const newcomer = await stage.member('newcomer')
  await newcomer.agent()
  await nodes.until('Rollcall initializes Nodes', () => level(nodes.last(newcomer.name)) === 'proven')
  t.ok(await controller.isReady())
  t.equal(await metric(controller, 'rollcall_cpi_runs'), 0)
  t.equal(controller.output().split('Nodes are left to the CPI').length, 2, 'it was held once')
})

/** Starts a CPI whose Lease soon runs out: the times are shorter than in earnest. Resolves once it leads. */
async function startLeadingCPI(...more: string[]) {
  const times = ['lease-duration=6s', 'renew-deadline=4s', 'retry-period=1s'].map(
    (each) => `--leader-elect-${each}`,
  )
  const config = vsphereConf(vcsim, { labels: LABELS })
  const cpi = await startCPI({
    cluster,
    dir: stage.dir,
    config,
    args: ['--leader-elect=true', ...times, ...more],
  })
  t.teardown(() => cpi.stop())
  await cpi.says(/Successfully acquired lease/)
  return cpi
}
