import t from 'tap'
import { integer } from './der.ts'

const rows: [what: string, bytes: number[], contents: number[]][] = [
  ['as it is', [0x12, 0x34], [0x12, 0x34]],
  ['with a sign', [0x80], [0, 0x80]],
  ['without leading zeros', [0, 0, 0x7f, 0], [0x7f, 0]],
  ['with the one zero that is its sign', [0, 0xff], [0, 0xff]],
  ['zero', [0, 0], [0]],
]
for (const [what, bytes, contents] of rows) {
  t.test(`an integer, ${what}`, async (t) => {
    t.same([...integer(Buffer.from(bytes))], [0x02, contents.length, ...contents])
  })
}
