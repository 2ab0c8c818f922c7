import t from 'tap'
import { SETTINGS } from '../../../test/fixtures/facts.ts'
import { allowedMissed, brakeCloses, waitForRate } from './brake.ts'

const settings = SETTINGS.lifecycle

t.test('a share of the Nodes may be missed, and in small clusters a few', async (t) => {
  for (const [bound, share, minimum, allowed] of [
    [1, 0.2, 1, 1],
    [3, 0.2, 1, 1],
    [4, 0.5, 1, 2],
    [9, 0.2, 1, 1],
    [10, 0.2, 1, 2],
    [1000, 0.2, 1, 200],
    [1000, 0, 0, 0],
    [3, 0.2, 2, 2],
    [0, 0.2, 1, 1],
  ] as const) {
    const chosen = { ...settings, maxAbsentShare: share, maxAbsentMinimum: minimum }
    t.equal(allowedMissed(bound, chosen), allowed, `${allowed} of ${bound}`)
    const fleet = { bound, braked: 0, deletedAgo: [] }
    t.equal(brakeCloses({ ...fleet, missed: allowed }, chosen), false)
    t.equal(brakeCloses({ ...fleet, missed: allowed + 1 }, chosen), true)
    t.equal(brakeCloses({ ...fleet, missed: 1, braked: 1 }, chosen), true, 'it stays closed')
  }
})

t.test('no minute has more deletions than it may', async (t) => {
  const wait = (deletedAgo: number[], deletionsPerMinute = 2) =>
    waitForRate({ bound: 9, missed: 1, braked: 0, deletedAgo }, { ...settings, deletionsPerMinute })
  t.equal(wait([]), 0)
  t.equal(wait([5_000]), 0)
  t.equal(wait([5_000, 10_000]), 50_000, 'until the older of two is a minute ago')
  t.equal(wait([70_000, 60_000, 59_999]), 0, 'what is older does not count')
  t.equal(wait([1_000, 2_000, 3_000]), 58_000)
})
