import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { createDebounce } from './debounce.ts'

async function runs(triggers: readonly number[], until: number): Promise<number[]> {
  const clock = createHandClock()
  const stop = new AbortController()
  const debounce = createDebounce({ quiet: 50, max: 200, spacing: 1_000 }, clock)
  const times: number[] = []
  const running = debounce.run(async () => void times.push(clock.monotonic()), stop.signal)
  for (const at of triggers) {
    await clock.turn(at - clock.monotonic())
    debounce.trigger()
  }
  await clock.turn(until - clock.monotonic())
  stop.abort()
  await running
  return times
}

t.test('when work is done', async (t) => {
  const stream = Array.from({ length: 500 }, (_, i) => i * 10)
  const cases: readonly [string, readonly number[], readonly number[]][] = [
    ['nothing', [], []],
    ['one', [10], [60]],
    ['a burst', [10, 20, 30], [110]],
    ['a long burst', Array.from({ length: 25 }, (_, i) => i * 10), [200, 1_200]],
    ['two, far apart', [10, 5_000], [60, 5_050]],
    ['two, close', [10, 500], [60, 1_060]],
    ['a stream of 5 s', stream, [200, 1_200, 2_200, 3_200, 4_200, 5_200]],
  ]
  for (const [name, triggers, expected] of cases) t.same(await runs(triggers, 10_000), expected, name)
})

t.test('a trigger during work leads to work again; a failure is thrown', async (t) => {
  const clock = createHandClock()
  const debounce = createDebounce({ quiet: 50, max: 200, spacing: 1_000 }, clock)
  let count = 0
  const running = debounce.run(async () => {
    if (++count === 2) throw new Error('second')
    debounce.trigger()
  }, new AbortController().signal)
  debounce.trigger()
  await Promise.all([t.rejects(running, { message: 'second' }), clock.turn(2_000)])
  t.equal(count, 2)
})
