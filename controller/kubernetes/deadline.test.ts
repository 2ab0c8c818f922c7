import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createDeadline } from './client.ts'

t.test('aborts when the time is over', async (t) => {
  const clock = createHandClock()
  const deadline = createDeadline(clock, 100, new AbortController().signal)
  await clock.turn(99)
  t.notOk(deadline.signal.aborted)
  await clock.turn(1)
  t.match(deadline.signal.reason, { message: 'nothing came for 100 ms' })
})

t.test('counts anew when renewed', async (t) => {
  const clock = createHandClock()
  const deadline = createDeadline(clock, 100, new AbortController().signal)
  await clock.turn(90)
  deadline.renew(1_000)
  await clock.turn(999)
  t.notOk(deadline.signal.aborted)
  await clock.turn(1)
  t.match(deadline.signal.reason, { message: 'nothing came for 1000 ms' })
})

t.test('aborts with the outer signal, for its reason', async (t) => {
  const clock = createHandClock()
  const outer = new AbortController()
  const deadline = createDeadline(clock, 100, outer.signal)
  outer.abort(new Error('shutting down'))
  t.match(deadline.signal.reason, { message: 'shutting down' })
  t.ok(createDeadline(clock, 100, outer.signal).signal.aborted, 'at once when the outer one already has')
})

t.test('keeps neither timer nor listener once released', async (t) => {
  const clock = createHandClock()
  const outer = new AbortController()
  const deadline = createDeadline(clock, 100, outer.signal)
  deadline.release()
  await clock.turn(1_000)
  outer.abort()
  t.notOk(deadline.signal.aborted)
  t.equal(clock.sleepers, 0)
})
