import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { TIMINGS } from '../timings.ts'
import { BrokenAnswerError, DeadlineError, SoapFault, VCenterError } from '../wire/errors.ts'
import { createDebounce, createPollWait, type Pace, type RunOutcome } from './pace.ts'

/** When work is done, to triggers at these times. */
async function runs(
  triggers: readonly number[],
  until: number,
  outcome?: (run: number) => RunOutcome,
  pace: Pace = { quiet: 50, max: 200, spacing: 1_000 },
) {
  const clock = createHandClock()
  const stop = new AbortController()
  const debounce = createDebounce(pace, clock)
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
  const outcome = (run: number): RunOutcome => (run === 2 ? 'little' : 'done')
  t.same(await runs([0, 2_000, 2_100], 10_000, outcome), [50, 2_050, 2_150])
  t.same(await runs([0, 1_020, 1_100], 10_000, outcome), [50, 1_100, 1_150])
})

t.test('of a stream of new VMs, each is on the list soon', async (t) => {
  const everySecond = Array.from({ length: 60 }, (_, i) => i * 1_000)
  const times = await runs(everySecond, 70_000, undefined, TIMINGS.members)
  const waits = everySecond.map((at) => (times.find((time) => time >= at) ?? Number.POSITIVE_INFINITY) - at)
  t.ok(Math.max(...waits) <= 2_200, `${Math.max(...waits)} ms of the model's time`)
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

const S = 1_000
const by504 = new VCenterError('TimedOut', 'HTTP status 504')
const reset = new VCenterError('Unreachable', 'ECONNRESET')

t.test('a poll is shorter than what proxies allow by default', (t) => {
  t.ok(createPollWait(TIMINGS).milliseconds() < 50 * S)
  t.end()
})

t.test('later polls stay within a limit that shows', (t) => {
  type Cuts = readonly (readonly [VCenterError, number])[]
  const cases: readonly [string, Cuts, number][] = [
    ['none', [], 45],
    ['told by a proxy', [[by504, 30 * S]], 22],
    ['a connection that was lost once', [[reset, 30 * S]], 45],
    [
      'one that is lost again',
      [
        [reset, 30 * S],
        [reset, 30_900],
      ],
      23,
    ],
    ['the failure of what is behind the proxy', [[by504, 2 * S]], 45],
    ['a limit that is longer', [[by504, 60 * S]], 45],
  ]
  for (const [name, cuts, seconds] of cases) {
    const wait = createPollWait(TIMINGS)
    for (const [error, took] of cuts) t.ok(wait.isCut(error, took), name)
    t.equal(wait.milliseconds(), seconds * S, name)
  }
  t.end()
})

t.test('polls that are never answered are a failure', (t) => {
  const wait = createPollWait(TIMINGS)
  t.same(
    Array.from({ length: 5 }, () => wait.isCut(reset, 1)),
    [true, true, true, false, false],
  )
  wait.answered()
  t.ok(wait.isCut(reset, 1))
  t.end()
})

t.test('other errors are not cuts', (t) => {
  for (const error of [
    new SoapFault('RequestCanceled', ''),
    new DeadlineError('nothing came', true),
    new BrokenAnswerError('half of it', {}),
    new VCenterError('MalformedAnswer', 'half'),
    new Error('a defect'),
  ])
    t.notOk(createPollWait(TIMINGS).isCut(error, 30 * S))
  t.end()
})
