import t from 'tap'
import { isLabelValue, nearestLabelValue } from './labels.ts'

t.test('the nearest value that a label may have', async (t) => {
  for (const [text, expected] of [
    ['zone-a', 'zone-a'],
    ['', undefined],
    ['zone 1 / left', 'zone-1-left'],
    ['Zürich (Süd)', 'Zurich-Sud'],
    ['-_.a.', 'a'],
    ['a'.repeat(64), undefined],
    [`${'a'.repeat(62)}- b`, undefined],
    [`${'a'.repeat(63)} /`, 'a'.repeat(63)],
    ['东京', undefined],
    ['北京-1', undefined],
    ['Зона-1', undefined],
    ['Straße', undefined],
    ['zone ٣', undefined],
    [' / ', undefined],
  ] as const) {
    const value = nearestLabelValue(text)
    t.equal(value, expected, text)
    t.ok(value === undefined || isLabelValue(value), text)
  }
})
