import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { address, isInitialized } from '../world/objects.ts'
import { openOwnStage } from '../world/stage.ts'

// Longer than the 10 s in which a Lease must be renewed: the leader has to step down, and up again.
const OUTAGE = 13_000

const stage = await openOwnStage(t, { vms: 4 })
const { cluster, nodes, vcsim } = stage
const proxy = await stage.line()
const controller = await stage.controller({ cluster: proxy.cluster })
const readyz = async () => (await fetch(`${controller.url}/readyz`)).text()

t.test('the API server goes away and comes back', async (t) => {
  const member = await stage.member('running')
  const agent = await member.agent('--look=1s')
  const late = await stage.member('late')
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))

  const away = performance.now()
  await cluster.stopApiServer(500)
  const lateAgent = await late.agent()
  await member.setAddresses('10.9.0.8/24')
  await sleep(OUTAGE - (performance.now() - away))
  t.match(await readyz(), /^standby/, 'it does not lead without a Lease')
  t.equal((await fetch(`${controller.url}/healthz`)).status, 200, 'an outage is no reason to be started anew')
  t.match(await vcsim.sessions(), { soap: 0 }, 'who does not lead has no session')
  await cluster.startApiServer()

  const start = performance.now()
  await until('it leads again', async () => (await readyz()).startsWith('leading'))
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
  t.match(await readyz(), /^leading/)
  t.equal((await vcsim.sessions()).soap, soap)
  t.equal((await vcsim.calls()).operations.Login, undefined, 'it led all the while')
})
