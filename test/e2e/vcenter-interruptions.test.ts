import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { condition, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 8 })
const { nodes, reports, vcsim } = stage
t.afterEach(() => vcsim.clearFaults())

t.test('a hang: no call without a deadline', async (t) => {
  const controller = await stage.controller()
  t.teardown(() => controller.stop())
  await stage.initialized('runs')
  await vcsim.fault({ operation: '*', kind: 'hang' })
  const waiting = await stage.reported('hangs')
  const told = () => condition(reports.last(waiting.name), 'VMFound')
  await reports.until('the waiting one is told', () => told()?.reason === 'TimedOut')
  t.match(told(), { status: 'Unknown', message: /\d+ s/ })
  await vcsim.clearFaults()
  await nodes.until('it is initialized', () => isInitialized(nodes.last(waiting.name)))
})

t.test('the session is gone: one new login, and nobody notices', async (t) => {
  const controller = await stage.controller()
  t.teardown(() => controller.stop())
  await stage.initialized('before')
  const failures = reports.versions.length
  await vcsim.resetCalls()
  await vcsim.fault({ operation: 'RetrievePropertiesEx', kind: 'fault', fault: 'NotAuthenticated', times: 1 })
  await stage.initialized('after')
  await sleep(500)
  t.equal((await vcsim.calls()).operations.Login, 1)
  t.notOk(
    reports.versions.slice(failures).some(({ object }) => condition(object, 'VMFound')?.status === 'Unknown'),
  )
})

t.test('the tag service is down: the rest goes on, the labels follow', async (t) => {
  const rest = await vcsim.fault({
    operation: 'REST POST /rest/com/vmware/cis/session',
    kind: 'status',
    status: 503,
  })
  const controller = await stage.controller()
  t.teardown(() => controller.stop())
  const member = await stage.initialized('no-tags')
  t.equal(nodes.last(member.name)?.metadata.labels['topology.kubernetes.io/zone'], undefined)
  t.match(condition(reports.last(member.name), 'TopologyResolved') ?? { reason: 'TagsUnreadable' }, {
    reason: 'TagsUnreadable',
  })
  await vcsim.clearFaults(rest)
  await nodes.until(
    'the label has come',
    () => nodes.last(member.name)?.metadata.labels['topology.kubernetes.io/zone'] !== undefined,
  )
})
