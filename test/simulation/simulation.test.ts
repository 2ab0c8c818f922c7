import t from 'tap'
import { brokenLines } from './print.ts'
import { simulate } from './run.ts'
import { simulateSeries } from './series.ts'

/** A few seconds. `npm run simulate` goes on for as long as wanted. */
const STEPS = 140_000
/** Of a short run. */
const SEED = 3

t.test('no promise is broken, whatever fails', async (t) => {
  const { broken, deletions, pairs } = await simulateSeries({
    seed: 1,
    steps: STEPS,
    mostBroken: 1,
    shrinks: true,
  })
  t.same(
    broken.flatMap((each) => brokenLines(each, undefined)),
    [],
  )
  t.ok(deletions > 0, 'some Nodes are deleted')
  t.ok(pairs.size > 100, 'many faults meet')
})

t.test('a seed replays exactly, and a fault that is left out leaves the others as they were', async (t) => {
  const whole = await simulate(SEED)
  t.same(await simulate(SEED), whole)
  const { faults } = whole
  const [first] = faults
  const others = faults.filter((each) => each !== first)
  const without = await simulate(SEED, { only: new Set(others.map(({ id }) => id)) })
  t.ok(faults.length > 10, 'there are some')
  t.same(
    without.faults.map(({ id, kind }) => [id, kind]),
    others.map(({ id, kind }) => [id, kind]),
  )
})
