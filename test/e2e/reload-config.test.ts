import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import { vsphereConf } from '../world/controller.ts'
import { claimAll, prepareReports, registerCrowd } from '../world/crowd.ts'
import { lease, standsBy } from '../world/leadership.ts'
import type { Member } from '../world/member.ts'
import { metric } from '../world/meters.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { LABELS, type MountedController, openStage } from '../world/stage.ts'

// The configuration changes under a controller that runs and leads.
const CROWD = 60
const stage = await openStage(t, { vms: 20 + CROWD })
const { cluster, nodes, reports, vcsim } = stage
const other = await stage.vCenter({ vms: 4, seed: 'second', password: 'another' })
const [otherVM, nextVM] = await other.vms()
if (otherVM === undefined || nextVM === undefined) throw new Error('the second simulator lacks machines')
const both = { otherVCenters: { second: other } }
const labels = LABELS

const LOADED = /configuration loaded/
const REFUSED = /configuration refused/

t.test('a second vCenter comes and goes: the first does not notice, nor do its Nodes', async (t) => {
  const scene = await open(t, vsphereConf(vcsim, { labels }))
  const { controller } = scene
  const first = await stage.member('first')
  await initialized(t, first)
  const writes = nodes.of(first.name).length
  const before = { lease: await lease(cluster), calls: (await vcsim.calls()).operations }

  const taken = await change(scene, vsphereConf(vcsim, { labels, ...both }), LOADED)
  const start = performance.now()
  await until('it is ready', () => controller.isReady())
  t.comment(`loaded after ${taken.toFixed()} ms, ready ${(performance.now() - start).toFixed()} ms later`)
  const second = await stage.member('second', { vm: otherVM })
  await initialized(t, second)
  t.equal(reports.last(second.name)?.status?.vm?.vCenter, 'second')
  t.equal(await metric(controller, 'rollcall_vcenter_up{vcenter="second"}'), 1)

  t.equal(await logins(vcsim), 1, 'the session of the first is the same')
  t.match(await vcsim.sessions(), { soap: 1 })
  const after = (await vcsim.calls()).operations
  for (const operation of ['CreateListView', 'CreateFilter', 'RetrieveServiceContent']) {
    t.equal(after[operation], before.calls[operation], `${operation} was not called again`)
  }
  t.equal(await logins(other), 1)

  await change(scene, vsphereConf(vcsim, { labels }), LOADED)
  await until('the second is logged out', async () => (await other.sessions()).soap === 0)
  await until('it is ready', () => controller.isReady())
  t.equal(await metric(controller, 'rollcall_vcenter_up{vcenter="second"}'), undefined)
  t.equal(await metric(controller, 'rollcall_leader'), 1)
  await initialized(t, await stage.member('third'))

  t.equal(nodes.of(first.name).length, writes, 'the first Node was not touched')
  t.equal(await logins(vcsim), 1)
  const term = ({ holderIdentity, leaseTransitions }: Awaited<ReturnType<typeof lease>>) => ({
    holderIdentity,
    leaseTransitions,
  })
  t.same(term(await lease(cluster)), term(before.lease), 'the same leader in the same term')
  t.equal(controller.exit(), undefined)
  t.notOk(controller.output().includes('leadership given back'))
})

t.test('a mistake: refused whole, and all goes on as before', async (t) => {
  const good = vsphereConf(vcsim, { labels })
  const before = Date.now() / 1000
  const scene = await open(t, good)
  const { controller } = scene
  t.equal(await metric(controller, 'rollcall_config_valid'), 1)
  const loadedAt = await metric(controller, 'rollcall_config_last_load_timestamp_seconds')
  t.ok((loadedAt ?? 0) >= before && (loadedAt ?? 0) <= Date.now() / 1000, `loaded at ${loadedAt}`)
  await change(
    scene,
    vsphereConf(vcsim, { labels, ...both }).replace('password: another', 'pasword: x'),
    REFUSED,
  )
  t.equal(await metric(controller, 'rollcall_config_valid'), 0)
  t.equal(await metric(controller, 'rollcall_config_last_load_timestamp_seconds'), loadedAt)
  t.ok(await controller.isReady(), 'readiness does not care')
  await initialized(t, await stage.member('meanwhile'))
  t.equal(await logins(other), 0, 'none of it was loaded')
  t.equal(controller.stderr.filter((line) => REFUSED.test(line)).length, 1)
  t.match(controller.output(), /vcenter\.second\.pasword: unknown key: did you mean \\"password\\"/)

  await change(scene, good, /read again, unchanged/)
  t.equal(await metric(controller, 'rollcall_config_valid'), 1)
  t.ok(((await metric(controller, 'rollcall_config_last_load_timestamp_seconds')) ?? 0) > (loadedAt ?? 0))
  t.equal(await logins(vcsim), 1)
})

t.test('zones come: Nodes that run get their labels', async (t) => {
  const scene = await open(t, vsphereConf(vcsim))
  const member = await stage.member('unlabeled')
  await initialized(t, member)
  t.equal(nodes.last(member.name)?.metadata.labels['topology.kubernetes.io/zone'], undefined)
  await change(scene, vsphereConf(vcsim, { labels }), LOADED)
  await nodes.until(
    'it has its zone',
    () => nodes.last(member.name)?.metadata.labels['topology.kubernetes.io/zone'] !== undefined,
  )
  t.equal(await logins(vcsim), 2, 'tags are read by a new session')
  t.match(await vcsim.sessions(), { soap: 1, rest: 1 })
})

t.test('a replica that stands by loads it too, and leads with it', async (t) => {
  const scene = await open(t, vsphereConf(vcsim, { labels }))
  const standby = await stage.controller(
    {
      identity: 'standby',
      configFile: scene.configFile,
      until: 'answering',
    },
    t,
  )
  await change(scene, vsphereConf(vcsim, { labels, ...both }), LOADED)
  await until('so does the other', () => LOADED.test(standby.output()))
  t.ok(await standsBy(standby, 'controller-0'))
  await scene.controller.stop()
  await until(
    'the other leads',
    async () => (await metric(standby, 'rollcall_vcenter_up{vcenter="second"}')) === 1,
  )
  const member = await stage.member('by-standby', { vm: nextVM })
  await initialized(t, member)
})

t.test(`changes while ${CROWD} Nodes are initialized: each is written as often as ever`, async (t) => {
  /** So many report at a time. */
  const GROUP = 6
  /** What the configuration changes to while a group, by its index, is initialized. */
  const CHANGES = new Map([
    [2, 4],
    [6, 5],
  ])
  const members = await registerCrowd(cluster, stage.vms.splice(0, CROWD))
  await claimAll(vcsim, members)
  const groups = Array.from({ length: CROWD / GROUP }, (_, i) => members.slice(i * GROUP, (i + 1) * GROUP))
  const loads = await Promise.all(groups.map((group) => prepareReports(cluster, group)))
  t.teardown(() => Promise.all(loads.map((load) => load.close())))
  // Slow enough for the changes to come in the midst of it.
  const fault = await vcsim.fault({ operation: 'FindAllByUuid', kind: 'delay', milliseconds: 500 })
  t.teardown(() => vcsim.clearFaults(fault))
  const scene = await open(t, vsphereConf(vcsim, { labels }))
  const done = () => members.filter(({ name }) => isInitialized(nodes.last(name))).length
  const counts: number[] = []
  for (const [i, load] of loads.entries()) {
    await load.write()
    await nodes.until('some are initialized', () => done() >= i * GROUP)
    const confirmations = CHANGES.get(i)
    if (confirmations === undefined) continue
    await change(scene, vsphereConf(vcsim, { labels, lifecycle: { confirmations } }), LOADED)
    counts.push(done())
  }
  await nodes.until('all are initialized', () => done() === CROWD)
  await reports.until('all have a status', () =>
    members.every(({ name }) => condition(reports.last(name), 'Initialized')?.status === 'True'),
  )
  t.equal(counts.length, CHANGES.size)
  t.ok(
    counts.every((count) => count > 0 && count < CROWD),
    `${counts.join(' and ')} of ${CROWD} were done at the changes`,
  )
  for (const { name } of members) {
    const writes = nodes.of(name).length - 1
    if (writes !== 2) t.fail(`${name} was written ${writes} times`)
    const statuses = reports.of(name).length - 1
    // Each change may come between a Node's patches and its status, which is then decided again.
    if (statuses > 3) t.fail(`the status of ${name} was written ${statuses} times`)
  }
  t.equal(await logins(vcsim), 1)
})

/** A controller with this configuration, and nobody's calls counted before. */
async function open(t: Test, conf: string): Promise<MountedController> {
  await Promise.all([vcsim.resetCalls(), other.resetCalls()])
  return stage.mounted(t, conf)
}

/** Writes a configuration and waits until the controller says this of it; resolves with milliseconds from the one to the other. */
async function change({ write, controller }: MountedController, conf: string, says: RegExp): Promise<number> {
  const [start, heard] = [performance.now(), controller.stderr.length]
  await write(conf)
  await until(`it says ${says}`, () => controller.stderr.slice(heard).some((line) => says.test(line)))
  return performance.now() - start
}

async function initialized(t: Test, member: Member): Promise<void> {
  await member.reportOnce()
  await stage.says(member.name, 'Initialized', { status: 'True' })
  await nodes.until(`${member.name} is initialized`, () => isInitialized(nodes.last(member.name)))
  t.ok(isInitialized(nodes.last(member.name)))
}

async function logins(simulator: Vcsim): Promise<number> {
  return (await simulator.calls()).operations.Login ?? 0
}
