import t from 'tap'
import { percentile } from './percentile.ts'

t.test('the least value that so many do not exceed', (t) => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i)
  for (const [share, value] of [
    [0, 1],
    [0.5, 50],
    [0.99, 99],
    [0.995, 100],
    [1, 100],
  ] as const)
    t.equal(percentile(hundred, share), value, String(share))
  t.equal(percentile([7], 0.99), 7)
  t.equal(percentile([], 0.5), 0)
  t.end()
})
