import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import type { EventDetails } from '../kubernetes/event-recorder.ts'
import type { Annotations } from '../kubernetes/lease.ts'
import { troublesIn } from '../kubernetes/lease-troubles.ts'
import { type Trouble, troubleOf } from '../types/trouble.ts'
import { compareClocks, createListFailures, tellTroubles } from './troubles.ts'

const DOWN: Trouble = {
  key: 'vCenter vc1',
  text: 'vCenter vc1: Unreachable',
  message: 'vCenter vc1: Unreachable: refused',
  stops: { vCenter: 'vc1' },
}

function setUp(clock = createHandClock(), annotations: Annotations = {}) {
  const lease = { annotations, writes: 0, ours: true }
  const events: EventDetails[] = []
  let troubles: readonly Trouble[] | undefined = []
  const ending = new AbortController()
  const lead = (identity: string) =>
    tellTroubles({
      troubles: () => troubles,
      async annotate(edit) {
        if (!lease.ours) return false
        const next = edit(lease.annotations)
        if (next !== undefined) lease.annotations = next
        lease.writes++
        return true
      },
      lease: 'rollcall-controller',
      identity,
      events: { event: (event) => void events.push(event) },
      clock,
      random: () => 0.5,
    })(ending.signal)
  return {
    clock,
    lease,
    events,
    lead,
    record: () => troublesIn(lease.annotations),
    has(...now: readonly Trouble[]) {
      troubles = now
    },
    restarts() {
      troubles = undefined
    },
    end: () => ending.abort(),
  }
}

t.test('a trouble that lasts is written once with its time, and told once', async (t) => {
  const { clock, lease, events, lead, record, has, restarts, end } = setUp()
  void lead('a')
  await clock.turn(2_000)
  t.match(record(), { by: 'a', troubles: [] }, 'that there are none is written, too')
  has(DOWN)
  await clock.turn(10_000)
  t.same(record()?.troubles, [])
  has(DOWN, troubleOf('not listed yet'))
  await clock.turn(4_000)
  has(DOWN)
  t.same(record()?.troubles, [
    { key: DOWN.key, message: DOWN.message, since: '2026-01-01T00:00:04Z', stops: 'vc1' },
  ])
  t.match(events, [
    {
      regarding: { kind: 'Lease', name: 'rollcall-controller' },
      type: 'Warning',
      reason: 'LeaderTroubled',
      message: 'vCenter vc1: Unreachable; see rollcall-controller status',
    },
  ])
  t.equal(lease.writes, 2)
  restarts()
  await clock.turn(100_000)
  t.equal(lease.writes, 2, 'neither while nothing changes, nor while the work begins anew')
  has({ ...DOWN, message: 'still' })
  await clock.turn(2_000)
  t.match(record()?.troubles, [{ message: 'still', since: '2026-01-01T00:00:04Z' }])
  await clock.turn(302_000)
  t.equal(lease.writes, 4, 'and now and then')
  has()
  await clock.turn(8_000)
  t.equal(record()?.troubles.length, 1, 'it may be back soon')
  has(DOWN)
  await clock.turn(2_000)
  has()
  await clock.turn(10_000)
  t.match(record(), { troubles: { length: 0 } })
  t.equal(events.length, 1)
  end()
})

t.test('the next leader goes on with what the last one wrote', async (t) => {
  const first = setUp()
  void first.lead('a')
  first.has(DOWN)
  await first.clock.turn(12_000)
  t.match(first.record(), { by: 'a', troubles: [{ since: '2026-01-01T00:00:02Z' }] })
  first.end()
  const next = setUp(first.clock, first.lease.annotations)
  void next.lead('b')
  next.has(DOWN, troubleOf('another'))
  await next.clock.turn(8_000)
  t.match(next.record(), { by: 'a' }, 'nothing is said before what passes has passed')
  await next.clock.turn(6_000)
  t.match(next.record(), { by: 'b', troubles: [{ since: '2026-01-01T00:00:02Z' }, { message: 'another' }] })
  t.match(next.events, [{ message: /^another; see/ }])
  t.equal(next.events.length, 1)
  next.end()
})

t.test('a trouble that changes goes on, and is told once as each of what it is for a while', async (t) => {
  const { clock, events, lead, record, has, end } = setUp()
  const as = (reason: string) => ({ ...DOWN, text: `vCenter vc1: ${reason}`, message: `${reason} of ann` })
  void lead('a')
  for (let round = 0; round < 10; round++) {
    has(as(round % 2 === 0 ? 'TimedOut' : 'InvalidLogin'))
    await clock.turn(4_000)
  }
  t.match(record()?.troubles, [{ since: '2026-01-01T00:00:02Z', message: 'InvalidLogin of ann' }])
  t.match(events, [{ message: /TimedOut/ }], 'without particulars')
  t.equal(events.length, 1)
  await clock.turn(10_000)
  has(as('TimedOut'))
  await clock.turn(20_000)
  t.match(events, [{}, { message: /InvalidLogin/ }])
  t.equal(events.length, 2)
  end()
})

t.test(
  'a key that names many objects takes little room, and is still the same for the next leader',
  async (t) => {
    const many = { ...DOWN, key: 'dc '.repeat(20_000), message: 'm' }
    const first = setUp()
    void first.lead('a')
    first.has(many, { ...many, key: `${many.key}another`, message: 'n' })
    await first.clock.turn(12_000)
    t.match(first.record()?.troubles, [{ message: 'm' }, { message: 'n' }])
    first.end()
    const next = setUp(first.clock, first.lease.annotations)
    void next.lead('b')
    next.has(many)
    await next.clock.turn(14_000)
    t.match(next.record(), { by: 'b', troubles: [{ since: '2026-01-01T00:00:02Z' }] })
    t.equal(next.events.length, 0)
    next.end()
  },
)

t.test('what comes and goes does not keep the rest from being told forever', async (t) => {
  const { clock, lead, record, has, end } = setUp()
  void lead('a')
  for (let second = 0; second < 70; second += 2) {
    has(DOWN, troubleOf(`for a moment ${second % 8 < 4 ? 'a' : 'b'}`))
    await clock.turn(2_000)
    if (second < 50) t.equal(record(), undefined)
  }
  t.match(record(), { by: 'a', troubles: [{ key: DOWN.key }] })
  end()
})

t.test('what is not written is not told, and tried again', async (t) => {
  const { clock, lease, events, lead, record, has, end } = setUp()
  lease.ours = false
  void lead('a')
  has(DOWN)
  await clock.turn(20_000)
  t.same([record(), events], [undefined, []])
  lease.ours = true
  await clock.turn(2_000)
  t.match([record()?.troubles.length, events.length], [1, 1])
  end()
})

t.test('a clock that is off', async (t) => {
  const clock = createHandClock()
  let [off, fails] = [0, false]
  const client: KubeClient = {
    request: async () => {
      if (fails) throw new Error('away')
      const creationTimestamp = new Date(clock.now() + off).toISOString()
      return { metadata: { creationTimestamp }, status: { userInfo: { username: 'u' } } }
    },
    stream: () => Promise.reject(new Error('not used')),
    close: async () => undefined,
  }
  const clocks = compareClocks({ client, clock, random: () => 0.5 })
  const ending = new AbortController()
  void clocks.run(ending.signal)
  await clock.turn(0)
  t.same(clocks.troubles(), [])
  off = 180_000
  await clock.turn(300_000)
  t.match(clocks.troubles(), [{ key: 'clock', text: /about 3m behind the API server's.*NTP$/ }])
  fails = true
  await clock.turn(300_000)
  t.equal(clocks.troubles().length, 1, 'what cannot be asked stays')
  fails = false
  off = -90_000
  await clock.turn(300_000)
  t.match(clocks.troubles(), [{ text: /about [12]m ahead of/ }])
  off = 1_000
  await clock.turn(300_000)
  t.same(clocks.troubles(), [])
  off = 180_000
  await clock.turn(300_000)
  t.equal(clocks.troubles().length, 1)
  ending.abort()
  await clock.turn(0)
  t.same(clocks.troubles(), [], 'of a leader that has ended nothing is said')
})

const answer = (status: number) =>
  new ApiError(`GET /x was answered with ${status}`, { status, reason: '', retryAfter: undefined })

t.test('a list that does not come, and a watch that is broken, each with the reason', async (t) => {
  const failures = createListFailures()
  const of = failures.of('NodeReports')
  t.match(failures.notListed('NodeReports', { synced: false }), [
    { message: 'NodeReports are not listed yet' },
  ])
  of(answer(403))
  t.match(failures.notListed('NodeReports', { synced: false }), [
    {
      text: 'NodeReports are not listed yet',
      message: 'NodeReports are not listed yet: GET /x was answered with 403; apply rbac.yaml',
    },
  ])
  t.same(failures.notListed('Nodes', { synced: true }), [])
  t.same(failures.notFollowed('NodeReports', { synced: false }), [], 'that it is not listed is said already')
  of(answer(404))
  t.match(failures.notFollowed('NodeReports', { synced: true }), [
    { text: /not followed, so .* not seen$/, message: /404; the CRD is not there: apply crd\.yaml$/ },
  ])
  t.same(failures.notFollowed('Nodes', { synced: true }), [], 'of another kind')
  of(undefined)
  t.same(failures.notFollowed('NodeReports', { synced: true }), [])
})
