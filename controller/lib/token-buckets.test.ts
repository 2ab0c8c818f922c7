import t from 'tap'
import { createTokenBuckets } from './token-buckets.ts'

t.test('a burst, then one an interval, each key for itself', (t) => {
  const buckets = createTokenBuckets({ burst: 3, interval: 1_000 })
  const cases: readonly [now: number, key: string, wait: number][] = [
    [0, 'a', 0],
    [0, 'a', 0],
    [0, 'a', 0],
    [0, 'a', 1_000],
    [400, 'a', 600],
    [400, 'b', 0],
    [1_000, 'a', 0],
    [1_000, 'a', 1_000],
    // Quiet for long, it is full and no more than full.
    [60_000, 'a', 0],
    [60_000, 'a', 0],
    [60_000, 'a', 0],
    [60_000, 'a', 1_000],
  ]
  for (const [now, key, wait] of cases) t.equal(buckets.take(key, now), wait, `${key} at ${now}`)
  t.end()
})

t.test('full buckets are forgotten, others not', (t) => {
  const buckets = createTokenBuckets({ burst: 2, interval: 1_000 })
  buckets.take('busy', 0)
  for (let i = 0; i < 100_000; i++) {
    buckets.take(`key-${i}`, i)
    if (buckets.take('busy', i) === 0) t.equal(i % 1_000, 0)
  }
  t.ok(buckets.size < 4_096, `${buckets.size} of 100,000`)
  t.end()
})
