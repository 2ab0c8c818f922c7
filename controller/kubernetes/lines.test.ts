import t from 'tap'
import { readLines } from './lines.ts'

async function* pieces(...texts: (string | Uint8Array)[]) {
  for (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

const euro = Buffer.from('€')

const cases = [
  { name: 'nothing', given: [], expected: [] },
  { name: 'one line', given: ['a\n'], expected: ['a'] },
  { name: 'several lines in one piece', given: ['a\nb\n\nc\n'], expected: ['a', 'b', '', 'c'] },
  { name: 'one line in several pieces', given: ['a', 'b', 'c\nd', '\n'], expected: ['abc', 'd'] },
  { name: 'a character cut in two', given: [euro.subarray(0, 1), euro.subarray(1), '\n'], expected: ['€'] },
  { name: 'a rest without newline', given: ['a\nb'], expected: ['a'] },
  { name: 'a line of just the limit', given: ['12345678\n'], expected: ['12345678'] },
]

for (const { name, given, expected } of cases) {
  t.test(name, async (t) => {
    t.same(await all(readLines(pieces(...given), 8)), expected)
  })
}

for (const given of [['123456789\n'], ['1234', '56789'], ['a\n', '1234', '56789\n']]) {
  t.test(`too long: ${JSON.stringify(given)}`, async (t) => {
    await t.rejects(all(readLines(pieces(...given), 8)), {
      name: 'RangeError',
      message: 'a line is longer than 8 bytes',
    })
  })
}
