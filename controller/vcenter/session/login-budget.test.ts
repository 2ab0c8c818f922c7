import t from 'tap'
import { LIMITS, mergeAttempts, nextAttempt, recent } from './login-budget.ts'

const NOW = Date.parse('2026-01-01T12:00:00Z')
const MINUTE = 60_000
/** Minutes before now. */
const ago = (...minutes: number[]) => minutes.map((each) => ({ at: NOW - each * MINUTE, refused: true }))
const unanswered = (...minutes: number[]) => ago(...minutes).map(({ at }) => ({ at, refused: false }))

t.test('when an account may be tried next, in minutes from now', (t) => {
  const { any, unanswered: lost, unknown, REST } = LIMITS
  type Limits = Parameters<typeof nextAttempt>[1]
  const cases: readonly [string, Limits, ReturnType<typeof ago>, number][] = [
    ['never tried', [any, unknown], [], 0],
    ['a few lately', [any], ago(0, 1, 2), 0],
    ['four lately', [any], ago(0, 1, 2, 3), 2],
    ['four, of which one is long ago', [any], ago(0, 1, 2, 5), 0],
    ['more than four, as other versions may allow', [any], ago(0, 0, 1, 1, 2, 3), 4],
    ['four without an answer', [any], unanswered(0, 1, 2, 3), 2],
    ['these count for all, and for no longer', [any, unknown, REST], unanswered(2, 2, 3, 3, 4), 2],
    ['five without an answer', [any, lost], unanswered(6, 7, 8, 9, 10), 5],
    ['refused ones are not among them', [any, lost], [...unanswered(6, 7, 8, 9), ...ago(10)], 0],
    ['in any order', [any], ago(3, 0, 2, 1), 2],
    ['by a process that knows nothing: two', [any, unknown], ago(1, 14), 0],
    ['three', [any, unknown], ago(1, 2, 14), 1],
    ['both limits: the later one', [any, unknown], ago(0, 1, 2, 3), 13],
    ['by REST: one', [any, REST], ago(1), 0],
    ['two', [any, REST], ago(1, 14), 1],
    ['of a clock that is ahead', [any, unknown], ago(-3, 0, 1), 14],
    ['of a clock that is far ahead: nothing', [any, unknown], ago(-60, -60, -60, -60), 0],
  ]
  for (const [what, limits, attempts, minutes] of cases)
    t.equal((nextAttempt(attempts, limits, NOW) - NOW) / MINUTE, minutes, what)
  t.end()
})

t.test('what no limit counts any more is not kept', (t) => {
  t.same(recent(ago(0, 14.9, 15, 90, -14.9, -15), NOW), ago(0, 14.9, -14.9))
  t.end()
})

t.test('an attempt that stands under several names counts once', (t) => {
  const cases: readonly [string, ReturnType<typeof ago>[], ReturnType<typeof ago>][] = [
    ['nothing', [], []],
    ['under one name', [ago(1, 2)], ago(1, 2)],
    ['the same under both', [ago(1, 2), ago(1, 2)], ago(1, 2)],
    ['others under each', [ago(1), ago(2)], ago(1, 2)],
    ['one of them under both', [ago(1, 2), [], ago(2, 3)], ago(1, 2, 3)],
    ['known to be refused under one', [unanswered(1), ago(1)], ago(1)],
    ['in either order', [ago(1), unanswered(1)], ago(1)],
    ['two at the same time', [ago(1, 1)], ago(1, 1)],
    ['of which one is refused', [[...unanswered(1), ...ago(1)]], [...ago(1), ...unanswered(1)]],
    ['and the other one stands under one name', [ago(1), unanswered(1, 1)], [...ago(1), ...unanswered(1)]],
  ]
  for (const [what, lists, merged] of cases) t.same(mergeAttempts(lists), merged, what)
  t.end()
})

t.test('no five attempts within 180 s, however they are made', (t) => {
  for (const limits of [[LIMITS.any], [LIMITS.any, LIMITS.unknown], [LIMITS.any, LIMITS.REST]]) {
    const made: { at: number; refused: boolean }[] = []
    for (let at = NOW; at < NOW + 60 * MINUTE; at += 1_000) {
      if (nextAttempt(made, limits, at) <= at) made.push({ at, refused: true })
    }
    t.ok(made.length >= 8)
    t.ok(made.every(({ at }, index) => (made[index + 4]?.at ?? Number.POSITIVE_INFINITY) - at > 180_000))
  }
  t.end()
})
