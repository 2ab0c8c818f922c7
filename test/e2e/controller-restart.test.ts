import t from 'tap'
import { claimAll, prepareReports, registerCrowd } from '../world/crowd.ts'
import { address, condition, eventsOf, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const NODES = 200

t.test(`kill -9 while ${NODES} Nodes are initialized`, async (t) => {
  const stage = await openStage(t, { vms: NODES, hosts: 4 })
  const { nodes, reports, events, vcsim } = stage
  const members = await registerCrowd(stage.cluster, stage.vms)
  await claimAll(vcsim, members)
  const load = await prepareReports(stage.cluster, members)
  t.teardown(() => load.close())
  await load.write()
  const done = () => members.filter(({ name }) => isInitialized(nodes.last(name))).length

  // Slow enough for some to be left when the first is killed: a Node takes two writes, and sixteen Nodes go at once.
  const proxy = await stage.line()
  proxy.set('works', 200)
  const first = await stage.controller({ cluster: proxy.cluster, until: 'started' })
  await nodes.until('a part of them is initialized', () => done() >= NODES / 5)
  first.kill('SIGKILL')
  t.equal((await first.ended).signal, 'SIGKILL')
  const before = done()
  t.ok(before < NODES, `it died when ${before} of ${NODES} were done`)

  const start = performance.now()
  await stage.controller({ identity: 'controller-1', until: 'started' })
  await nodes.until('all are initialized', () => done() === NODES)
  t.ok(performance.now() - start >= 15_000, 'the Lease of the dead was waited out')
  await reports.until('all have a status', () =>
    members.every(({ name }) => condition(reports.last(name), 'Initialized')?.status === 'True'),
  )
  await events.until('Events are there', () => events.versions.length > 0)

  for (const { name, vm, address: expected, uid } of members) {
    const node = nodes.last(name)
    if (
      node?.spec.providerID !== `vsphere://${vm.uuid}` ||
      address(node, 'InternalIP') !== expected ||
      node.metadata.labels['topology.kubernetes.io/region'] !== 'region-1'
    ) {
      t.fail(`${name} is not as it should be`, { node })
    }
    const report = reports.last(name)
    if (report?.status?.identityLevel !== 'proven' || report.status.vm?.moref !== vm.ref)
      t.fail(`the report of ${name} is not as it should be`, { report })
    const [registered, ...writes] = nodes.of(name)
    if (writes.length !== 2 || registered?.object.metadata.uid !== uid)
      t.fail(`${name} was written ${writes.length} times`)
    if (isInitialized(writes[0]?.object)) t.fail(`${name} lost its taint before it had addresses`)
    const statuses = reports.of(name).length - 1
    if (statuses > 2) t.fail(`the status of ${name} was written ${statuses} times`)
    const told = eventsOf(events, name)
    if (
      told.some(
        ({ count, reason }, index) => count > 1 || told.findIndex((other) => other.reason === reason) < index,
      )
    )
      t.fail(`${name} has an Event twice`, { told })
  }
  t.equal(nodes.gaps(), 0, 'every version was seen')
  t.ok((await vcsim.sessions()).soap <= 2, 'the session of the dead, and one')
})
