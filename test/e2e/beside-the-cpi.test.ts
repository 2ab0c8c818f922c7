/** The vSphere CPI itself runs in the same cluster: first for all, then as a neighbor that leaves Nodes alone. */
import t from 'tap'
import { cpiObject } from '../../controller/cpi/interlock/testing/cpi-object.ts'
import { LABEL_IDENTITY_LEVEL } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest } from '../servers/manifests.ts'
import { vsphereConf } from '../world/controller.ts'
import { startCPI } from '../world/cpi.ts'
import { countRequests, metric } from '../world/meters.ts'
import { condition, eventsOf, isInitialized, level } from '../world/objects.ts'
import { LABELS, openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, vcsim, nodes, reports, events } = stage
const labels = LABELS
const NEIGHBOR = '--controllers=service,route'

/** Shorter than in earnest, so that its Lease soon runs out. */
const ELECTION = [
  '--leader-elect=true',
  '--leader-elect-lease-duration=6s',
  '--leader-elect-renew-deadline=4s',
  '--leader-elect-retry-period=1s',
]

async function startLeadingCPI(...args: string[]) {
  const cpi = await startCPI({
    cluster,
    dir: stage.dir,
    config: vsphereConf(vcsim, { labels }),
    args: [...ELECTION, ...args],
  })
  t.teardown(() => cpi.stop())
  await cpi.says(/Successfully acquired lease/)
  return cpi
}

const cpi = await startLeadingCPI()
const controller = await stage.controller({ require: 'asserted', until: 'answering' })
const readyz = async () => {
  const answer = await fetch(`${controller.url}/readyz`)
  return { ok: answer.ok, text: await answer.text() }
}
await until('Rollcall has seen the CPI', async () => (await readyz()).text.includes('Nodes are left to'))

const [vm] = stage.vms
if (vm === undefined) throw new Error('there is no VM')
await vcsim.setGuest({ vm: vm.ref, hostName: 'of-cpi', nics: [{ addresses: ['10.7.0.1/24'] }] })
const ofCPI = await stage.member('of-cpi')
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

  const current = () => condition(reports.last(waiting.name), 'Initialized')
  await reports.until('the other one is told why it waits', () => current()?.reason === 'CPIRuns')
  t.match(current(), { status: 'False', message: /static Pod, or outside the cluster, and stop it/ })
  t.notOk(isInitialized(nodes.last(waiting.name)))
  await events.until('by an Event as well', () =>
    eventsOf(events, waiting.name).some(({ reason }) => reason === 'CPIRuns'),
  )
  t.match(await readyz(), { ok: false, text: /kube-system\/cloud-controller-manager.*takes over by itself/ })
  t.equal(await metric(controller, 'rollcall_cpi_runs'), 1)
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
  await until('it is ready', async () => (await readyz()).ok)
  t.equal(await metric(controller, 'rollcall_cpi_runs'), 0)
})

t.test('a CPI that leaves Nodes alone is a neighbor', async (t) => {
  await applyManifest(cluster, cpiObject([NEIGHBOR]))
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
  await startLeadingCPI(NEIGHBOR)
  await until('Rollcall has looked who leads', async () => (await lists()) > 0)

  const newcomer = await stage.member('newcomer')
  await newcomer.agent()
  await nodes.until('Rollcall initializes Nodes', () => level(nodes.last(newcomer.name)) === 'proven')
  t.match(await readyz(), { ok: true })
  t.equal(await metric(controller, 'rollcall_cpi_runs'), 0)
  t.equal(controller.output().split('Nodes are left to the CPI').length, 2, 'it was held once')
})
