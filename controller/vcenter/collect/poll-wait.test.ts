import t from 'tap'
import { TIMINGS } from '../timings.ts'
import { BrokenAnswerError, DeadlineError, SoapFault, VCenterError } from '../wire/errors.ts'
import { createPollWait } from './poll-wait.ts'

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
