import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { Controller } from '../world/controller.ts'
import { lease } from '../world/leadership.ts'
import { openOwnStage } from '../world/stage.ts'

const stage = await openOwnStage(t, { vms: 2 })
const { cluster, vcsim } = stage

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`${signal}: all is given back`, async (t) => {
    const controller = await busyController(`worker-${signal.toLowerCase()}`)
    t.match(await lease(cluster), { holderIdentity: new RegExp(`^worker-${signal.toLowerCase()}_`) })
    await end(t, controller, signal)
    t.same(await vcsim.sessions(), { soap: 0, rest: 0 })
    t.match(await lease(cluster), { holderIdentity: '', leaseDurationSeconds: 1 })
  })
}

t.test('a standby', async (t) => {
  const leader = await stage.controller({ identity: 'leader' })
  const standby = await stage.controller({ identity: 'standby', until: 'answering' })
  await end(t, standby)
  t.match(await lease(cluster), { holderIdentity: /^leader_/ }, 'the Lease of another is left alone')
  await end(t, leader)
})

t.test('while vCenter hangs', async (t) => {
  const controller = await stage.controller()
  await vcsim.fault({ operation: '*', kind: 'hang' })
  // A session whose end vCenter does not confirm is left, before a call would be given up.
  t.match(await end(t, controller), /"error":"it took too long".*a session could not be ended/)
  t.match(await lease(cluster), { holderIdentity: '' })
  await vcsim.clearFaults()
})

t.test('while vCenter hangs from the start', async (t) => {
  await vcsim.fault({ operation: '*', kind: 'hang' })
  const controller = await stage.controller({ until: 'answering' })
  await controller.says(/leadership begins/)
  await end(t, controller)
  await vcsim.clearFaults()
})

t.test('while the API server is away', async (t) => {
  // What hung above could not be ended. A controller ends such a session where a login before its own was not answered.
  await vcsim.endSessions()
  const controller = await stage.controller()
  await until('it is logged in', async () => (await vcsim.sessions()).soap === 1)
  await cluster.stopApiServer(500)
  await end(t, controller)
  t.match(await vcsim.sessions(), { soap: 0 }, 'it has logged out all the same')
  await cluster.startApiServer()
})

/** Sends the signal and expects the process to end by itself. Resolves with what it said from then on. */
async function end(t: Test, controller: Controller, signal: NodeJS.Signals = 'SIGTERM'): Promise<string> {
  controller.kill(signal)
  t.equal((await controller.ended).code, 0)
  t.match(JSON.parse(controller.stderr.at(-1) ?? '{}'), { msg: 'ended' })
  const said = controller.stderr.join('\n').split('"msg":"ending"')[1] ?? ''
  t.notMatch(said, /TimedOut|within \d+ s/, 'no call is waited out')
  return said
}

/** A controller that has worked: it holds the Lease and both sessions. */
async function busyController(identity: string): Promise<Controller> {
  const controller = await stage.controller({ identity })
  await stage.initialized(identity)
  t.match(await vcsim.sessions(), { soap: 1, rest: 1 })
  return controller
}
