import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { releaseMemory } from './release-memory.ts'

t.test('memory that has grown is given back, and only then', async (t) => {
  const clock = createHandClock()
  const stop = new AbortController()
  let resident = 100
  let live = 90
  const releases: number[] = []
  const memory = {
    resident: () => resident,
    release() {
      resident = live
      releases.push(clock.monotonic() / 1000)
    },
  }
  const running = releaseMemory(memory, clock)(stop.signal)
  await clock.turn(60_000)
  t.same(releases, [5], 'what the start has left')
  resident = 94
  await clock.turn(60_000)
  t.same(releases, [5], 'within the slack')
  resident = 100
  live = 98
  await clock.turn(60_000)
  t.same(releases, [5, 125], 'beyond it')
  resident = 102
  await clock.turn(60_000)
  t.same(releases, [5, 125], 'what is in use counts from then on')
  stop.abort()
  await running
})

t.test('it takes a small part of the time, however much there is', async (t) => {
  const clock = createHandClock()
  const stop = new AbortController()
  let resident = 100
  let took = 0
  const releases: number[] = []
  const memory = {
    // It grows all the time.
    resident: () => (resident *= 2),
    release() {
      releases.push(clock.monotonic() / 1000)
      took += 400
    },
  }
  const running = releaseMemory(memory, { ...clock, monotonic: () => clock.monotonic() + took })(stop.signal)
  await clock.turn(70_000)
  t.same(releases, [5, 25, 45, 65])
  stop.abort()
  await running
})
