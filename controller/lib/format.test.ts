import t from 'tap'
import { duration, listed, timeOfDay } from './format.ts'

t.test('the first five names, made safe for a terminal', async (t) => {
  t.equal(listed([]), '')
  t.equal(listed(['a', 'b\u001b']), 'a, b\u{fffd}')
  t.equal(listed(['a', 'b', 'c', 'd', 'e']), 'a, b, c, d, e')
  t.equal(listed(['a', 'b', 'c', 'd', 'e', 'f', 'g']), 'a, b, c, d, e and 2 more')
})

t.equal(timeOfDay(Date.parse('2026-01-01T14:05:00Z')), '14:05 UTC')
t.equal(timeOfDay(Date.parse('2026-01-01T14:05:00.001Z')), '14:06 UTC', 'when it has happened, not before')
t.equal(timeOfDay(Date.parse('2026-01-01T23:59:30Z')), '00:00 UTC')

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
