import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { Reason } from '../types/reasons.ts'
import { createConnectionHealth } from './connection-health.ts'

const failure = (reason: Reason) => ({ vCenter: 'lab', reason, message: reason })

function setUp() {
  const clock = createHandClock()
  let changes = 0
  const health = createConnectionHealth({
    grace: 10_000,
    pause: 60_000,
    unsteady: { lasting: 300_000, within: 180_000 },
    clock,
    onChange: () => changes++,
  })
  return { clock, health, changes: () => changes }
}

t.test('a vCenter that never answered has no grace', async (t) => {
  const { health, changes } = setUp()
  health.failed(failure('Unreachable'), false)
  health.failed(failure('Unreachable'), false)
  t.match(health.failure(), { reason: 'Unreachable' })
  t.equal(changes(), 1)
  health.failed(failure('TimedOut'), false)
  t.equal(changes(), 2)
  health.recovered()
  t.equal(health.failure(), undefined)
  t.equal(changes(), 3)
  await health.close()
})

t.test('a short failure is not shown, a longer one is, with its latest reason', async (t) => {
  const { clock, health, changes } = setUp()
  health.recovered()
  health.failed(failure('SessionLost'), false)
  await clock.turn(9_000)
  health.recovered()
  await clock.turn(60_000)
  t.equal(changes(), 0)
  health.failed(failure('SessionLost'), false)
  await clock.turn(5_000)
  health.failed(failure('Unavailable'), false)
  await clock.turn(9_999)
  t.equal(health.failure(), undefined)
  await clock.turn(1)
  t.match(health.failure(), { reason: 'Unavailable' })
  t.equal(changes(), 1)
  await health.close()
})

t.test(
  'one that answers again and again is not shown to fail in between, unless it fails twice',
  async (t) => {
    const { clock, health, changes } = setUp()
    health.recovered()
    // As where each poll fails: the pause before the next connection is longer than the grace.
    for (let minute = 0; minute < 10; minute++) {
      health.failed(failure('Unreachable'), false)
      await clock.turn(59_000)
      health.recovered()
    }
    t.equal(changes(), 0)
    t.match(health.unsteady(), { reason: 'Unreachable' })
    health.failed(failure('Unreachable'), false)
    await clock.turn(20_000)
    health.failed(failure('Unreachable'), false)
    await clock.turn(10_000)
    t.match(health.failure(), { reason: 'Unreachable' })
    health.recovered()
    health.failed(failure('Unreachable'), false)
    await clock.turn(70_000)
    t.match(health.failure(), { reason: 'Unreachable' }, 'nor for longer than the longest pause')
    await health.close()
  },
)

t.test('a lasting failure is shown at once', async (t) => {
  const { health } = setUp()
  health.recovered()
  health.failed(failure('InvalidLogin'), true)
  t.match(health.failure(), { reason: 'InvalidLogin' })
  await health.close()
})

t.test('failures that go on and on are told, however short each is', async (t) => {
  const { clock, health, changes } = setUp()
  const fails = async (reason: Reason, until: number) => {
    health.recovered()
    health.failed(failure(reason), false)
    health.recovered()
    await clock.turn(until)
  }
  await fails('UnexpectedFault', 120_000)
  await fails('UnexpectedFault', 120_000)
  await fails('UnexpectedFault', 60_000)
  t.equal(health.unsteady(), undefined, 'they lasted for four minutes')
  await fails('TimedOut', 180_000)
  t.match(health.unsteady(), { reason: 'TimedOut' })
  t.ok(health.connected(), 'it answers')
  await clock.turn(1)
  t.equal(health.unsteady(), undefined, 'it lasts')
  await fails('TimedOut', 0)
  t.equal(health.unsteady(), undefined, 'another row begins')
  t.equal(changes(), 0)
  await health.close()
})

t.test('an outage is one failure, however long it is', async (t) => {
  const { clock, health } = setUp()
  health.recovered()
  for (let minute = 0; minute < 20; minute++) {
    health.failed(failure('Unavailable'), false)
    await clock.turn(60_000)
  }
  health.recovered()
  t.equal(health.unsteady(), undefined)
  await health.close()
})
