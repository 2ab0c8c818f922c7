import t from 'tap'
import { brokenLines } from './print.ts'
import { simulate } from './run.ts'
import { simulateSeries } from './series.ts'

/** Some ten seconds. `npm run simulate` goes on for as long as wanted. */
const STEPS = 150_000

t.test('no promise is broken, whatever fails', async (t) => {
  const { broken, deletions, pairs } = await simulateSeries({
    seed: 1,
    steps: STEPS,
    mostBroken: 1,
    shrinks: true,
  })
  t.same(broken.flatMap(brokenLines), [])
  t.ok(deletions > 0, 'some Nodes are deleted')
  t.ok(pairs.size > 100, 'many faults meet')
})

t.test('a seed replays exactly', async (t) => {
  const first = await simulate(7)
  t.same(await simulate(7), first)
})

t.test('a fault that is left out leaves the others as they were', async (t) => {
  const { faults } = await simulate(7)
  const [first] = faults
  const only = new Set(faults.filter((each) => each !== first).map(({ id }) => id))
  const without = await simulate(7, only)
  t.ok(faults.length > 10, 'there are some')
  t.same(
    without.faults.map(({ id, kind }) => [id, kind]),
    faults.filter((each) => each !== first).map(({ id, kind }) => [id, kind]),
  )
})
