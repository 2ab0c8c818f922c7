import t from 'tap'
import { escapeUnprintable, printable } from './printable.ts'

t.test('what a terminal would act on is replaced', async (t) => {
  t.equal(
    printable('a\u001b[2Jb\nc\u009bd\u202ee\u2028f\ud800g', 80),
    'a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf\ufffdg',
  )
  t.equal(printable('Zürich “ok” 東京 😀', 80), 'Zürich “ok” 東京 😀')
})

t.test('a cut leaves no half of a character, and a second one changes nothing', async (t) => {
  const long = '😀'.repeat(20)
  for (const max of [10, 11, 12]) {
    const cut = printable(long, max)
    t.ok(cut.length <= max)
    t.equal(cut.isWellFormed(), true)
    t.equal(printable(cut, max), cut)
  }
})

t.test('in a whole output it becomes an escape that JSON reads back', async (t) => {
  const name = 'a\u009bb\u202ec\u2028d\u007fe\u{e0001}f\u200bg 東京 😀'
  const json = escapeUnprintable(JSON.stringify({ name, [name]: 'key' }))
  t.equal(JSON.parse(json).name, name)
  t.same(JSON.parse(json), { name, [name]: 'key' })
  t.notMatch(json, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
  t.match(json, '東京 😀')
  t.equal(escapeUnprintable('one\n\ttwo\u001b[2J'), 'one\n\ttwo\\u001b[2J')
  t.equal(escapeUnprintable('\ud800'), '\\ud800')
})
