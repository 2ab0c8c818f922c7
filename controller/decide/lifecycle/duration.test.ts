import t from 'tap'
import { duration } from './duration.ts'

t.test('times read as people write them', async (t) => {
  const written: readonly [ms: number, text: string][] = [
    [0, '0s'],
    [1_500, '1.5s'],
    [59_999, '59.999s'],
    [60_000, '1m'],
    [90_000, '1m30s'],
    [119_600, '2m'],
    [3_600_000, '60m'],
  ]
  for (const [ms, text] of written) t.equal(duration(ms), text)
})
