import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { createDebounce, type Pace, type RunOutcome } from './pace.ts'

interface Scene {
  readonly pace?: Partial<Pace>
  readonly outcome?: (run: number) => RunOutcome
}

/** When work is done, to triggers at these times. */
async function runs(triggers: readonly number[], until: number, { pace, outcome }: Scene = {}) {
  const clock = createHandClock()
  const stop = new AbortController()
  const debounce = createDebounce({ quiet: 50, max: 200, spacing: 1_000, ...pace }, clock)
  const times: number[] = []
  const running = debounce.run(async () => {
    times.push(clock.monotonic())
    return outcome?.(times.length) ?? 'done'
  }, stop.signal)
  for (const at of triggers) {
    await clock.turn(at - clock.monotonic())
    debounce.trigger()
  }
  await clock.turn(until - clock.monotonic())
  stop.abort()
  await running
  return times
}

const stream = (length: number) => Array.from({ length: length / 10 }, (_, i) => i * 10)

t.test('when work is done', async (t) => {
  const cases: readonly [string, readonly number[], readonly number[]][] = [
    ['nothing', [], []],
    ['one', [10], [60]],
    ['a burst', [10, 20, 30], [110]],
    ['a long burst', stream(250), [200, 1_200]],
    ['two, far apart', [10, 5_000], [60, 5_050]],
    ['two, close', [10, 500], [60, 1_060]],
    ['a stream of 5 s', stream(5_000), [200, 1_200, 2_200, 3_200, 4_200, 5_200]],
  ]
  for (const [name, triggers, expected] of cases) t.same(await runs(triggers, 10_000), expected, name)
})

t.test('a run that finds nothing to do does not put off the next', async (t) => {
  const outcome = (run: number): RunOutcome => (run === 2 ? 'idle' : 'done')
  t.same(await runs([0, 2_000, 2_100], 10_000, { outcome }), [50, 2_050, 2_150])
  t.same(await runs([0, 1_020, 1_100], 10_000, { outcome }), [50, 1_100, 1_150])
})

t.test('a stream that lasts is served ever more rarely, and in full soon after its end', async (t) => {
  const pace = { longest: 1_600, spacing: 100 }
  t.same(await runs(stream(2_000), 10_000, { pace }), [200, 600, 1_400, 2_050])
  const later = stream(20_000)
  t.equal((await runs(later, 30_000, { pace })).length, 15)
  t.same((await runs([...later, 25_000, 26_000], 30_000, { pace })).slice(-2), [25_050, 26_050])
})

t.test('the first runs after a rest come early, those of a stream do not', async (t) => {
  const early = { runs: 2, wait: 10 }
  t.same(await runs([100, 5_000], 10_000, { pace: { early } }), [110, 5_010])
  const pace = { early, quiet: 300, max: 1_000, spacing: 100 }
  t.same(await runs([0, 200, 400, 600, 1_500], 10_000, { pace }), [10, 210, 1_000, 1_510])
  const outcome = (run: number): RunOutcome => (run <= 2 ? 'idle' : 'done')
  const idle = await runs([0, 200, 400, 600, 800], 10_000, { pace, outcome })
  t.same(idle, [10, 210, 410, 610, 1_100], 'a run that finds nothing to do is none')
})

t.test('a trigger during work leads to work again; a failure is thrown', async (t) => {
  const clock = createHandClock()
  const debounce = createDebounce({ quiet: 50, max: 200, spacing: 1_000 }, clock)
  let count = 0
  const running = debounce.run(async () => {
    if (++count === 2) throw new Error('second')
    debounce.trigger()
    return 'done'
  }, new AbortController().signal)
  debounce.trigger()
  await Promise.all([t.rejects(running, { message: 'second' }), clock.turn(2_000)])
  t.equal(count, 2)
})
