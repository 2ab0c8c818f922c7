import t from 'tap'
import { troublesIn, withTroubles } from './lease-troubles.ts'

const NAME = 'rollcall.dev/leader-troubles'
const trouble = { key: 'interlock', message: 'stop the CPI', since: '2026-01-01T00:00:00Z', stops: '' }
const record = { by: 'pod_1', at: '2026-01-01T00:00:10Z', troubles: [trouble] }

t.test('what is written is read, and other annotations stay', async (t) => {
  const written = withTroubles({ other: 'x' }, record)
  t.equal(written.other, 'x')
  t.same(troublesIn(written), record)
})

t.test('however many there are, and whatever they say', async (t) => {
  const message = `\u001b${'x'.repeat(5_000)}`
  const many = Array.from({ length: 500 }, (_, index) => ({ ...trouble, key: String(index), message }))
  const written = withTroubles({}, { ...record, troubles: many })
  t.ok((written[NAME]?.length ?? 0) < 64 * 1024)
  t.equal(troublesIn(written)?.troubles.length, 32)
  t.notMatch(written[NAME], '\u001b')
})

t.test(
  'what takes more room than it has characters is shortened, and what has none is left out',
  async (t) => {
    for (const message of ['"'.repeat(5_000), '\u{fffd}'.repeat(5_000)]) {
      const many = Array.from({ length: 32 }, (_, index) => ({ ...trouble, key: String(index), message }))
      const written = withTroubles({}, { ...record, troubles: many })
      t.ok(Buffer.byteLength(written[NAME] ?? '') <= 32 * 1024)
      t.equal(troublesIn(written)?.troubles.length, 32)
    }
    const long = Array.from({ length: 32 }, (_, index) => ({
      ...trouble,
      key: `${index}${'"'.repeat(2_000)}`,
    }))
    const written = withTroubles({}, { ...record, troubles: long })
    t.match(troublesIn(written)?.troubles, [{ key: /^0/ }], 'the first ones stay')
    t.ok(Buffer.byteLength(written[NAME] ?? '') <= 32 * 1024)
  },
)

t.test('anything else comes from somebody else, and is ignored', async (t) => {
  const tooMany = JSON.stringify({ ...record, troubles: Array.from({ length: 33 }, () => trouble) })
  const others = ['', '{', '[]', '{"by":"a","at":"now","troubles":[]}', 'x'.repeat(70_000), tooMany]
  for (const text of [undefined, ...others])
    t.equal(troublesIn(text === undefined ? {} : { [NAME]: text }), undefined)
})
