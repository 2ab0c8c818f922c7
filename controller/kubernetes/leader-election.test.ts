import t from 'tap'
import { createHandClock, type HandClock } from '../../test/fixtures/hand-clock.ts'
import { createLeaderElection, type Lead } from './leader-election.ts'
import { createLeaseStub, type LeaseLine, type LeaseStub } from './testing/lease-stub.ts'
import { createLogLines } from './testing/log-lines.ts'

/** Leads until told to stop, then for `windDown` more. */
function office(clock: HandClock, log: string[], identity: string, windDown = 0): Lead {
  return async (_, signal) => {
    log.push(`${clock.monotonic() / 1000} ${identity} begins`)
    await clock.sleep(Number.MAX_SAFE_INTEGER, signal)
    log.push(`${clock.monotonic() / 1000} ${identity} stops`)
    await clock.sleep(windDown, new AbortController().signal)
    log.push(`${clock.monotonic() / 1000} ${identity} ended`)
  }
}

function setUp(t: { teardown(fn: () => Promise<void>): unknown }) {
  const clock = createHandClock()
  const lease: LeaseStub = createLeaseStub(clock)
  const timeline: string[] = []
  function candidate(identity: string, lead: Lead = office(clock, timeline, identity)) {
    const line: LeaseLine = lease.line(identity)
    const log = createLogLines()
    const stop = new AbortController()
    const election = createLeaderElection({
      lease: line,
      identity,
      clock,
      random: () => 0,
      logger: log.logger,
    })
    const ended = election.run(lead, stop.signal)
    ended.catch(() => undefined)
    t.teardown(async () => {
      stop.abort()
      await clock.turn(30_000)
      await ended.catch(() => undefined)
    })
    return { line, log, stop, election, ended }
  }
  return { clock, lease, timeline, candidate }
}

t.test('the first leads and renews, the second waits', async (t) => {
  const { clock, lease, timeline, candidate } = setUp(t)
  const a = candidate('a')
  await clock.turn(1_000)
  t.same(lease.record, {
    holder: 'a',
    durationSeconds: 15,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:00:00.000000Z',
    transitions: 0,
  })
  const b = candidate('b')
  await clock.turn(60_000)
  t.same(timeline, ['0 a begins'])
  t.same(a.election.status(), { leading: true, holder: 'a', problem: undefined })
  t.same(b.election.status(), { leading: false, holder: 'a', problem: undefined })
  t.equal(lease.writes.length, 31, 'one write every two seconds, and none of the second')
  t.match(lease.record, {
    acquireTime: '2026-01-01T00:00:00.000000Z',
    renewTime: '2026-01-01T00:01:00.000000Z',
    transitions: 0,
  })
})

for (const state of ['cut', 'hangs', 'deaf'] as const) {
  t.test(
    `a leader whose line ${state === 'hangs' ? state : `is ${state}`} stops before another begins`,
    async (t) => {
      const { clock, lease, timeline, candidate } = setUp(t)
      const a = candidate('a')
      await clock.turn(10_000)
      const b = candidate('b')
      await clock.turn(1_000)
      a.line.state = state
      // A deaf one's writes arrive: its Lease lives on, but it cannot know.
      if (state === 'deaf') b.stop.abort()
      await clock.turn(20_000)
      const stopped = Number(timeline.find((line) => line.endsWith('a stops'))?.split(' ')[0])
      t.ok(stopped >= 20 && stopped <= 22, `stopped at ${stopped}, last renewed at 10`)
      t.match(
        a.log.lines.find(({ msg }) => msg === 'leadership lost'),
        { identity: 'a' },
      )
      if (state === 'deaf') return
      const began = Number(timeline.find((line) => line.endsWith('b begins'))?.split(' ')[0])
      t.ok(began >= 25 && began < 30, `the other began at ${began}`)
      t.match(lease.record, { holder: 'b', transitions: 1 })

      if (state === 'cut') t.equal(a.election.status().holder, undefined, 'it does not know who leads')

      a.line.state = 'works'
      await clock.turn(30_000)
      t.equal(a.election.status().leading, false)
      t.equal(a.election.status().holder, 'b', 'the old leader stands again, and sees the new one')
    },
  )
}

t.test('a short disturbance costs nothing', async (t) => {
  const { clock, timeline, candidate } = setUp(t)
  const a = candidate('a')
  for (const state of ['cut', 'hangs', 'deaf'] as const) {
    await clock.turn(5_000)
    a.line.state = state
    await clock.turn(6_000)
    a.line.state = 'works'
  }
  await clock.turn(30_000)
  t.same(timeline, ['0 a begins'])
})

t.test('at the end the Lease is kept until the work has ended, then given back', async (t) => {
  const { clock, lease, timeline, candidate } = setUp(t)
  const a = candidate('a', office(clock, timeline, 'a', 20_000))
  await clock.turn(1_000)
  candidate('b')
  await clock.turn(1_000)
  a.stop.abort()
  await clock.turn(30_000)
  await a.ended
  t.same(timeline.slice(0, 3), ['0 a begins', '2 a stops', '22 a ended'])
  const given = lease.writes.findIndex(({ record }) => record.holder === '')
  t.match(lease.writes[given], { by: 'a', record: { holder: '', durationSeconds: 1, transitions: 0 } })
  t.match(lease.writes[given + 1], { by: 'b', record: { transitions: 1 } })
  const began = Number(timeline[3]?.split(' ')[0])
  t.ok(began >= 22 && began <= 24, `the next began at ${began}`)
})

t.test('a leader that cannot give it back ends all the same', async (t) => {
  const { clock, candidate } = setUp(t)
  const a = candidate('a')
  await clock.turn(1_000)
  a.line.state = 'hangs'
  a.stop.abort()
  await clock.turn(5_000)
  await a.ended
  t.match(a.log.lines.at(-1), { msg: 'lease not released' })
})

t.test('who ends while waiting writes nothing', async (t) => {
  const { clock, lease, candidate } = setUp(t)
  candidate('a')
  await clock.turn(1_000)
  const b = candidate('b')
  await clock.turn(5_000)
  b.stop.abort()
  await b.ended
  t.ok(lease.writes.every(({ by }) => by === 'a'))
})

t.test('a Lease that someone else took is lost at once', async (t) => {
  const { clock, lease, timeline, candidate } = setUp(t)
  candidate('a')
  await clock.turn(1_000)
  if (lease.record) lease.record = { ...lease.record, holder: 'intruder', transitions: 7 }
  await clock.turn(2_000)
  t.same(timeline, ['0 a begins', '2 a stops', '2 a ended'])
  await clock.turn(20_000)
  t.match(lease.record, { holder: 'a', transitions: 8 })
})

t.test('a Lease that someone deleted is made again', async (t) => {
  const { clock, lease, timeline, candidate } = setUp(t)
  candidate('a')
  await clock.turn(1_000)
  lease.record = undefined
  await clock.turn(30_000)
  t.match(lease.record, { holder: 'a' })
  t.same(timeline, ['0 a begins'])
})

for (const renewTime of ['2020-01-01T00:00:00.000000Z', '2040-01-01T00:00:00.000000Z', 'garbage', '']) {
  t.test(`the other's clock says nothing: ${renewTime || 'no time'}`, async (t) => {
    const { clock, lease, timeline, candidate } = setUp(t)
    lease.record = { holder: 'dead', durationSeconds: 15, acquireTime: '', renewTime, transitions: 3 }
    candidate('a')
    await clock.turn(14_000)
    t.same(timeline, [])
    await clock.turn(4_000)
    t.same(timeline, ['15 a begins'])
    t.match(lease.record, { holder: 'a', transitions: 4 })
  })
}

t.test('the duration that the other wrote counts, not our own', async (t) => {
  const { clock, lease, timeline, candidate } = setUp(t)
  lease.record = { holder: 'dead', durationSeconds: 60, acquireTime: '', renewTime: '', transitions: 0 }
  candidate('a')
  await clock.turn(58_000)
  t.same(timeline, [])
  await clock.turn(4_000)
  t.same(timeline, ['60 a begins'])
})

t.test(
  'but for no more than five minutes, as anybody who may create Leases may have written it',
  async (t) => {
    const { clock, lease, timeline, candidate } = setUp(t)
    const record = {
      holder: 'nobody',
      durationSeconds: 2_147_483,
      acquireTime: '',
      renewTime: '',
      transitions: 0,
    }
    lease.record = record
    candidate('a')
    await clock.turn(298_000)
    t.same(timeline, [])
    await clock.turn(4_000)
    t.same(timeline, ['300 a begins'])
  },
)

t.test('work that ends unasked ends the election', async (t) => {
  const { clock, lease, candidate } = setUp(t)
  const done = candidate('a', async () => undefined)
  await clock.turn(3_000)
  await done.ended
  t.match(lease.record, { holder: '' })
  const failed = candidate('b', async () => {
    throw new TypeError('a mistake')
  })
  await clock.turn(3_000)
  await t.rejects(failed.ended, { message: 'a mistake' })
  t.match(lease.record, { holder: '' }, 'given back all the same')
})

t.test('a leader that does not stop is a problem', async (t) => {
  const { clock, timeline, candidate } = setUp(t)
  const a = candidate('a', office(clock, timeline, 'a', 60_000))
  await clock.turn(1_000)
  a.line.state = 'cut'
  await clock.turn(30_000)
  t.equal(a.election.status().problem, undefined)
  await clock.turn(10_000)
  t.equal(a.election.status().problem, 'still leads although its Lease ended 26 s ago: it must be restarted')
})

t.test('only the leader annotates the Lease, and nobody makes one for it', async (t) => {
  const { clock, lease, candidate } = setUp(t)
  const { signal } = new AbortController()
  const a = candidate('a')
  t.notOk(await a.election.annotate(() => ({ logins: 'x' }), signal), 'it does not lead yet')
  await clock.turn(1_000)
  t.ok(await a.election.annotate(() => ({ logins: 'x' }), signal))
  const b = candidate('b')
  await clock.turn(5_000)
  const before = lease.writes.length
  t.notOk(await b.election.annotate(() => ({ logins: 'y' }), signal), 'another leads')
  a.line.state = 'cut'
  await clock.turn(11_000)
  a.line.state = 'works'
  const { length } = lease.writes
  t.notOk(await a.election.annotate(() => ({ logins: 'z' }), signal), 'its term is over')
  t.equal(lease.writes.length, length)
  t.ok(lease.writes.slice(before).every(({ by }) => by === 'a'))
})
