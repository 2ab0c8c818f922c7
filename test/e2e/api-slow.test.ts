import t from 'tap'
import { until } from '../fixtures/until.ts'
import { lease } from '../world/leadership.ts'
import { address, condition, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

/** Each way. A renewal of the Lease takes twice as long, of the 10 s that it has. */
const DELAY = 1_000

const stage = await openStage(t, { vms: 6 })
const { cluster, nodes, reports, vcsim } = stage
const proxy = await stage.line()
const controller = await stage.controller({ cluster: proxy.cluster })
const readyz = async () => (await fetch(`${controller.url}/readyz`)).text()

t.test(`every answer of the API server takes ${2 * DELAY} ms`, async (t) => {
  proxy.set('works', DELAY)
  const names = ['a', 'b', 'c', 'd', 'e']
  const members = await Promise.all(names.map((name) => stage.member(name)))
  await Promise.all(members.map((member) => member.reportOnce()))
  const start = performance.now()
  await nodes.until('all are initialized', () => names.every((name) => isInitialized(nodes.last(name))))
  await reports.until('all are reported', () =>
    names.every((name) => condition(reports.last(name), 'Initialized')?.status === 'True'),
  )
  const ms = Math.round(performance.now() - start)
  t.comment(`${ms} ms`)
  for (const [index, name] of names.entries()) {
    t.equal(nodes.of(name).length, 3, `${name} is written twice: addresses, then the rest`)
    t.equal(address(nodes.last(name), 'InternalIP'), members[index]?.address)
    // The report as it came, and its status.
    t.equal(reports.of(name).length, 2, `the report of ${name} once`)
  }
  t.match(await readyz(), /^leading/)
  t.match(await lease(cluster), { leaseTransitions: 0 })
  proxy.set('works')
})

t.test('too slow to keep the Lease: it steps down, and goes on when all is well again', async (t) => {
  const [first] = [nodes.of('a').length]
  await until('it leads', async () => (await readyz()).startsWith('leading'))
  await until('it has its session', async () => (await vcsim.sessions()).soap === 1)
  proxy.set('works', 6_000)
  await until('it stands by', async () => (await readyz()).startsWith('standby'))
  proxy.set('works')
  await stage.initialized('late')
  t.equal(nodes.of('a').length, first, 'what was done is left alone')
  t.equal(nodes.of('late').length, 3)
  t.equal(controller.exit(), undefined)
})
