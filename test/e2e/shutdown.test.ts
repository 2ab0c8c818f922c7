import t from 'tap'
import { TIMINGS } from '../../controller/vcenter/timings.ts'
import type { Controller } from '../fixtures/controller.ts'
import { until } from '../fixtures/until.ts'
import { lease } from './lease.ts'
import { isInitialized } from './objects.ts'
import { openOwnStage } from './stage.ts'

const { callDeadline: CALL_DEADLINE } = TIMINGS
const stage = await openOwnStage(t, { vms: 2 })
const { cluster, nodes, vcsim } = stage

/** Sends the signal and measures until the process is gone. */
async function ask(controller: Controller, signal: NodeJS.Signals = 'SIGTERM') {
  const start = performance.now()
  controller.kill(signal)
  const { code, at } = await controller.ended
  return { code, ms: Math.round(at - start) }
}

/** A controller that has worked: it holds the Lease and both sessions. */
async function busyController(identity: string): Promise<Controller> {
  const controller = await stage.controller({ identity })
  const member = await stage.member(identity)
  await member.reportOnce()
  await nodes.until('its Node is initialised', () => isInitialized(nodes.last(identity)))
  t.match(await vcsim.sessions(), { soap: 1, rest: 1 })
  return controller
}

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal}: all is given back`, async (t) => {
    const controller = await busyController(`worker-${signal.toLowerCase()}`)
    t.match(await lease(cluster), { holderIdentity: new RegExp(`^worker-${signal.toLowerCase()}_`) })
    const { code, ms } = await ask(controller, signal)
    t.equal(code, 0)
    t.ok(ms < CALL_DEADLINE, `${ms} ms: no call is waited out`)
    t.same(await vcsim.sessions(), { soap: 0, rest: 0 })
    t.match(await lease(cluster), { holderIdentity: '', leaseDurationSeconds: 1 })
    t.match(JSON.parse(controller.stderr.at(-1) ?? '{}'), { msg: 'ended' })
  })
}

t.test('a standby', async (t) => {
  const leader = await stage.controller({ identity: 'leader' })
  const standby = await stage.controller({ identity: 'standby', until: 'answering' })
  const { code, ms } = await ask(standby)
  t.equal(code, 0)
  t.ok(ms < CALL_DEADLINE, `${ms} ms`)
  t.match(await lease(cluster), { holderIdentity: /^leader_/ }, 'the Lease of another is left alone')
  t.equal((await ask(leader)).code, 0)
})

t.test('while vCenter hangs', async (t) => {
  const controller = await stage.controller()
  await vcsim.fault({ operation: '*', kind: 'hang' })
  const { code, ms } = await ask(controller)
  t.equal(code, 0)
  t.ok(ms < CALL_DEADLINE, `${ms} ms: no call is waited out`)
  t.match(await lease(cluster), { holderIdentity: '' })
  await vcsim.clearFaults()
})

t.test('while vCenter hangs from the start', async (t) => {
  await vcsim.fault({ operation: '*', kind: 'hang' })
  const controller = await stage.controller({ until: 'answering' })
  await controller.says(/leadership begins/)
  const { code, ms } = await ask(controller)
  t.equal(code, 0)
  t.ok(ms < CALL_DEADLINE, `${ms} ms: no call is waited out`)
  await vcsim.clearFaults()
})

t.test('while the API server is away', async (t) => {
  // What hung could not be ended; those run out by themselves.
  const orphans = (await vcsim.sessions()).soap
  const controller = await stage.controller()
  await until('it is logged in', async () => (await vcsim.sessions()).soap === orphans + 1)
  await cluster.stopApiServer(500)
  const { code, ms } = await ask(controller)
  t.equal(code, 0)
  t.ok(ms < CALL_DEADLINE, `${ms} ms: no call is waited out`)
  t.match(await vcsim.sessions(), { soap: orphans }, 'it has logged out all the same')
  await cluster.startApiServer()
})
