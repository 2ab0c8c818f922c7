import t from 'tap'
import { SETTINGS } from '../../../../../test/fixtures/facts.ts'
import { waitForRate } from './brake.ts'

t.test('no minute has more deletions than it may', async (t) => {
  const wait = (deletedAgo: number[], deletionsPerMinute = 2) =>
    waitForRate(
      { deleted: deletedAgo.map((ago) => ({ ago, vanished: undefined })) },
      { ...SETTINGS.lifecycle, deletionsPerMinute },
    )
  t.equal(wait([]), 0)
  t.equal(wait([5_000]), 0)
  t.equal(wait([5_000, 10_000]), 50_000, 'until the older of two is a minute ago')
  t.equal(wait([70_000, 60_000, 59_999]), 0, 'what is older does not count')
  t.equal(wait([1_000, 2_000, 3_000]), 58_000)
})
