import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault } from '../servers/control.ts'
import { watchUsage } from '../world/meters.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 16 })
const { nodes, reports, events, vcsim } = stage
t.afterEach(() => vcsim.clearFaults())

/** MB that a controller may take at most, whatever is thrown at it; at rest it takes some 60. */
const MEMORY = 250

const kinds: Record<string, { fault: Omit<VcsimFault, 'operation'>; reason: RegExp; message?: RegExp }> = {
  '50 MB': { fault: { kind: 'huge' }, reason: /^MalformedAnswer$/ },
  'status 503': { fault: { kind: 'status', status: 503 }, reason: /^Unavailable$/ },
  'no privilege': { fault: { kind: 'fault', fault: 'NoPermission' }, reason: /^NoPermission$/ },
  'a fault that nobody knows, and that drives a terminal': {
    fault: { kind: 'fault', fault: 'OutOfBeer', text: 'no\u009b2J\u202ebeer\u2028' },
    reason: /^UnexpectedFault$/,
    message: /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u,
  },
}

t.test('from the first call on: the waiting Node is told, and recovery needs nobody', async (t) => {
  for (const [i, [what, { fault, reason, message = /./ }]] of Object.entries(kinds).entries()) {
    await t.test(what, async (t) => {
      const member = await stage.reported(`cold-${i}`)
      await vcsim.fault({ operation: '*', ...fault })
      const controller = await stage.controller({ until: 'answering' })
      const usage = watchUsage(controller.pid)
      await reports.until(
        'the report says so',
        () => condition(reports.last(member.name), 'VMFound') !== undefined,
      )
      t.match(condition(reports.last(member.name), 'VMFound'), { status: 'Unknown', reason, message })
      await events.until('an Event says so', () => eventsOf(events, member.name).length > 0)
      t.match(eventsOf(events, member.name)[0], { type: 'Warning', reason, count: 1 })
      await vcsim.clearFaults()
      await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
      t.equal(nodes.of(member.name).length, 3)
      const { peakResident } = await usage.now()
      await usage.stop()
      t.ok(peakResident < MEMORY, `${Math.round(peakResident)} MB`)
      t.equal((await controller.stop()).code, 0)
      t.match(controller.stderr.join(''), /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+$/u, 'the log can be shown')
      if (fault.text !== undefined) t.match(controller.output(), '\\u009b2J')
    })
  }
})

t.test('in the middle of its work: running Nodes are left alone, waiting ones are told', async (t) => {
  const controller = await stage.controller()
  const usage = watchUsage(controller.pid)
  const running = await stage.initialized('running')
  const before = { node: nodes.of(running.name).length, report: reports.of(running.name).length }

  // Each kind spoils three calls; the last goes on. Nobody hears of a failure of less than 10 seconds.
  for (const { fault } of Object.values(kinds)) await vcsim.fault({ operation: '*', times: 3, ...fault })
  await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
  const waiting = await stage.reported('waiting')
  const current = () => condition(reports.last(waiting.name), 'VMFound')
  await reports.until('the waiting one is told', () => current()?.status === 'Unknown')
  t.match(condition(reports.last(waiting.name), 'Initialized'), {
    status: 'False',
    message: /vCenter|127\.0\.0\.1/,
  })
  t.equal((await fetch(`${controller.url}/readyz`)).status, 503)
  await until('the metric says so', async () =>
    (await controller.metrics()).includes('rollcall_vcenter_up{vcenter="main"} 0'),
  )
  t.equal(nodes.of(running.name).length, before.node, 'the running Node is untouched')
  t.equal(reports.of(running.name).length, before.report, 'and so is what was found out about it')
  t.equal(nodes.of(waiting.name).length, 1)

  await vcsim.clearFaults()
  await nodes.until('the waiting one is initialized', () => isInitialized(nodes.last(waiting.name)))
  await until('it is ready', () => controller.isReady())
  t.equal(nodes.of(running.name).length, before.node)
  t.equal(reports.of(running.name).length, before.report)
  const { peakResident } = await usage.now()
  await usage.stop()
  t.ok(peakResident < MEMORY, `${Math.round(peakResident)} MB`)
  t.equal((await vcsim.sessions()).soap, 1, 'no session was left behind')
  await controller.stop()
})
