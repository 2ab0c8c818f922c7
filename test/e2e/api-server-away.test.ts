import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { settled, verified } from '../world/deletion.ts'
import { lease } from '../world/leadership.ts'
import { address, isInitialized } from '../world/objects.ts'
import { openOwnStage } from '../world/stage.ts'

// An API server that answers late, not at all for a while, or has forgotten where the watches were.
const stage = await openOwnStage(t, { vms: 14 })
const { cluster, nodes, reports, vcsim } = stage
const proxy = await stage.line()
const controller = await stage.controller({ cluster: proxy.cluster })

t.test('every answer of the API server takes 2 s', async (t) => {
  /** Each way. A renewal of the Lease takes twice as long, of the 10 s that it has. */
  const DELAY = 1_000
  proxy.set('works', DELAY)
  const names = ['a', 'b', 'c', 'd', 'e']
  const members = await stage.machines(...names)
  await Promise.all(members.map((member) => member.reportOnce()))
  const start = performance.now()
  await settled(stage, ...names)
  const ms = Math.round(performance.now() - start)
  t.comment(`${ms} ms`)
  for (const [index, name] of names.entries()) {
    t.equal(nodes.of(name).length, 3, `${name} is written twice: addresses, then the rest`)
    t.equal(address(nodes.last(name), 'InternalIP'), members[index]?.address)
    // The report as it came, and its status.
    t.equal(reports.of(name).length, 2, `the report of ${name} once`)
  }
  t.match(await controller.readyz(), /^leading/)
  t.match(await lease(cluster), { leaseTransitions: 0 })
  proxy.set('works')
})

t.test('too slow to keep the Lease: it steps down, and goes on when all is well again', async (t) => {
  const [first] = [nodes.of('a').length]
  await until('it leads', async () => (await controller.readyz()).startsWith('leading'))
  await until('it has its session', async () => (await vcsim.sessions()).soap === 1)
  proxy.set('works', 6_000)
  await until('it stands by', async () => (await controller.readyz()).startsWith('standby'))
  proxy.set('works')
  await stage.initialized('late')
  t.equal(nodes.of('a').length, first, 'what was done is left alone')
  t.equal(nodes.of('late').length, 3)
  t.equal(controller.exit(), undefined)
})

t.test('the API server no longer knows where the watches were', async (t) => {
  const [, moves, goes] = await verified(stage, 'stays', 'moves', 'goes')
  const before = { stays: nodes.of('stays').length, report: reports.of('stays').length }

  const heard = controller.output().length
  // A restarted server remembers no earlier changes.
  proxy.set('cut')
  await cluster.stopApiServer(500)
  await cluster.startApiServer()
  await moves.setAddresses('10.8.0.1/24')
  await moves.reportOnce()
  await stage.remove('goes')
  const again = await stage.register(goes)
  await stage.reported('late-after-restart')
  const start = performance.now()
  proxy.set('works')

  await nodes.until('a new Node is seen', () => isInitialized(nodes.last('late-after-restart')))
  await nodes.until('a change is seen', () => address(nodes.last('moves'), 'InternalIP') === '10.8.0.1')
  t.comment(`${Math.round(performance.now() - start)} ms`)
  // On a busy machine the API server starts so late that the Lease is lost; then everything is listed again as well.
  const said = controller.output().slice(heard)
  const lost = said.includes('leadership lost')
  t.match(said, lost ? /leadership lost[\s\S]*leadership begins/ : /410/, 'the places were forgotten')
  // Its old report names another UID, and its agent has not reported again yet.
  t.notOk(isInitialized(nodes.last('goes')), 'the Node that took a deleted one’s name is not taken for it')
  t.equal(nodes.last('goes')?.metadata.uid, again.uid)
  await until('all is ready', async () => (await controller.readyz()) === 'leading\n')
  t.equal(nodes.of('stays').length, before.stays, 'what did not change is not written again')
  t.equal(reports.of('stays').length, before.report)
  t.equal(nodes.of('late-after-restart').length, 3)
  t.equal(controller.exit(), undefined)
})

t.test('the API server goes away and comes back', async (t) => {
  const member = await stage.member('running')
  const agent = await member.agent('--look=1s')
  const late = await stage.member('late-after-outage')
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))

  await cluster.stopApiServer(500)
  const lateAgent = await late.agent()
  await member.setAddresses('10.9.0.8/24')
  // The leader has to step down, and up again.
  await until('it does not lead without a Lease', async () =>
    (await controller.readyz()).startsWith('standby'),
  )
  t.equal((await fetch(`${controller.url}/healthz`)).status, 200, 'an outage is no reason to be started anew')
  await until('it has no session, as it does not lead', async () => (await vcsim.sessions()).soap === 0)
  await cluster.startApiServer()

  const start = performance.now()
  await until('it leads again', async () => (await controller.readyz()).startsWith('leading'))
  await nodes.until(
    'the address that changed meanwhile is on the Node',
    () => address(nodes.last(member.name), 'InternalIP') === '10.9.0.8',
  )
  await nodes.until('the late one is initialized', () => isInitialized(nodes.last(late.name)))
  t.comment(`all is well ${Math.round(performance.now() - start)} ms after the API server was back`)
  t.same(
    [controller.exit(), agent.exit(), lateAgent.exit()],
    [undefined, undefined, undefined],
    'none was started anew',
  )
})

t.test('a short one costs nothing', async (t) => {
  const { soap } = await vcsim.sessions()
  await vcsim.resetCalls()
  proxy.set('cut')
  await sleep(2000)
  proxy.set('works')
  await stage.initialized('afterwards')
  t.match(await controller.readyz(), /^leading/)
  t.equal((await vcsim.sessions()).soap, soap)
  t.equal((await vcsim.calls()).operations.Login, undefined, 'it led all the while')
})
