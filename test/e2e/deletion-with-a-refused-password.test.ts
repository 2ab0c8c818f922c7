// kubernetes/cloud-provider-vsphere#479
import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { Controller } from '../world/controller.ts'
import { deleted, deletionPending, eventsOfReason, QUICK, verified } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { condition } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4 })
const { cluster, events, nodes, reports, vcsim } = stage

const ABSENT_FOR = 2_000
const lifecycle = { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' }
const readyz = async ({ url }: Controller) => (await fetch(`${url}/readyz`)).text()
const logins = async () => (await vcsim.calls()).operations.Login ?? 0

const first = await stage.controller({ identity: 'first', lifecycle })
const members = await verified(stage, 'worker-0', 'worker-1', 'gone')
const names = members.map(({ name }) => name)
const [one, other, gone] = members
if (!one || !other || !gone) throw new Error('there are three')

/** Looks at all Nodes for longer than a deletion takes, again and again. */
async function outlast(controller: Controller): Promise<void> {
  const looks = async () => (await metric(controller, 'rollcall_reconciles_total{outcome="done"}')) ?? 0
  const before = await looks()
  const start = performance.now()
  await until('all Nodes were looked at for long enough', async () => {
    await loseHeartbeats(cluster, ...names)
    return performance.now() - start > 2 * ABSENT_FOR && (await looks()) - before >= 3 * names.length
  })
}

async function checkKept(t: Tap, controller: Controller, attempts: number): Promise<void> {
  for (const { name } of members) {
    const { message } = await deletionPending(stage, name, { status: 'Unknown', reason: 'InvalidLogin' })
    t.match(message, /^vCenter cannot be asked whether its VM is gone, so the Node is kept: .*password/)
  }
  await outlast(controller)
  t.equal(await logins(), attempts, 'one attempt')
  t.ok(
    names.every((name) => nodes.last(name) !== undefined),
    'all are kept',
  )
  await events.until('it is told', () =>
    names.every((name) => eventsOfReason(stage, name, 'InvalidLogin').length > 0),
  )
  for (const name of names) {
    t.match(eventsOfReason(stage, name, 'InvalidLogin'), [{ type: 'Warning', count: 1 }])
    t.equal(eventsOfReason(stage, name, 'InvalidLogin').length, 1)
  }
  t.match(await readyz(controller), 'vCenter main: InvalidLogin')
}

type Tap = Pick<typeof t, 'equal' | 'ok' | 'match'>

t.test('it expires while the controller runs, and the session ends', async (t) => {
  await loseHeartbeats(cluster, ...names)
  await vcsim.resetCalls()
  const refused = await vcsim.fault({ operation: 'Login', kind: 'fault', fault: 'InvalidLogin' })
  await vcsim.endSessions()
  await vcsim.hide(gone.vm.ref)
  await checkKept(t, first, 1)
  await first.stop()
  await vcsim.clearFaults(refused)
})

t.test('it is wrong when the controller starts', async (t) => {
  await vcsim.resetCalls()
  const second = await stage.controller({
    identity: 'second',
    lifecycle,
    vcsim: { ...vcsim, password: 'another' },
    until: 'answering',
  })
  await checkKept(t, second, 1)
  await second.stop()
})

t.test('it is right', async (t) => {
  await stage.controller({ identity: 'third', lifecycle })
  for (const { name } of [one, other]) {
    await deletionPending(stage, name, { status: 'False', reason: 'VMExists' })
    t.equal(condition(reports.last(name), 'VMFound')?.status, 'True')
  }
  await deleted(stage, gone.name)
  t.same(
    [one, other].map(({ name }) => nodes.last(name)?.metadata.name),
    ['worker-0', 'worker-1'],
  )
})
