import { PassThrough } from 'node:stream'
import t from 'tap'
import { createBoard } from './board.ts'
import type { NodeRow } from './table.ts'
import { createTerminal } from './terminal.ts'

const tainted: NodeRow = {
  name: 'worker-1',
  state: 'tainted',
  vm: '',
  host: '',
  zone: '',
  type: '',
  addresses: '',
  level: '',
  reason: '',
}
const initialized: NodeRow = {
  ...tainted,
  state: 'initialized',
  vm: 'VM0',
  host: 'H0',
  zone: 'zone-a',
  type: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
  addresses: '10.0.0.5',
  level: 'proven',
  after: 420,
}

/** What a board wrote to a stream, which is a terminal where it has a size. */
function write(
  size: { columns: number; rows: number } | undefined,
  env: NodeJS.ProcessEnv,
  rows: readonly NodeRow[][],
) {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: size !== undefined, ...size })
  const board = createBoard(createTerminal(stream as unknown as NodeJS.WriteStream, env))
  for (const [i, some] of rows.entries()) board.show(some, i * 100)
  board.end()
  board.end()
  return String(stream.read() ?? '')
}

t.test('without a terminal: a plain line for each change of state', (t) => {
  const waiting: NodeRow = { ...tainted, state: 'waiting' }
  const unproven: NodeRow = { ...initialized, level: '' }
  const text = write(undefined, {}, [
    [waiting],
    [tainted],
    [tainted],
    [unproven],
    [initialized],
    [initialized],
  ])
  t.same(
    text
      .trim()
      .split('\n')
      .map((line) => line.trim()),
    [
      '+0.10 s  worker-1  tainted',
      '+0.40 s  worker-1  initialized  proven  VM0  H0  zone-a  10.0.0.5  vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
    ],
  )
  t.end()
})

t.test('on a terminal: one table, drawn over, whole at the end, and the cursor comes back', (t) => {
  const text = write({ columns: 40, rows: 24 }, {}, [[tainted], [initialized]])
  t.match(text, '\x1b[32minitialized\x1b[39m')
  t.equal(text.split('os-ubuntu').length, 2, 'cut while it is drawn over, whole once')
  t.equal(text.split('\x1b[?25l').length, 2)
  t.equal(text.split('\x1b[?25h').length, 2)
  t.ok(text.endsWith('\x1b[?25h'))
  t.end()
})

t.test('who is refused is counted apart, and nobody is waited for any more', (t) => {
  const refused: NodeRow = { ...tainted, name: 'forger', state: 'refused', reason: 'ClaimedByAnotherNode' }
  const text = write({ columns: 120, rows: 24 }, {}, [
    [initialized, tainted],
    [initialized, refused],
  ])
  t.match(text, '1 initialized, 1 to go, ')
  t.match(text, '1 initialized, 1 refused, ')
  t.match(text, '\x1b[31mrefused\x1b[39m')
  t.match(text, /forger .*ClaimedByAnotherNode/)
  t.end()
})

t.test('NO_COLOR takes the colors away, TERM=dumb the drawing as well', (t) => {
  const plain = write({ columns: 80, rows: 24 }, { NO_COLOR: '1' }, [[initialized]])
  t.notMatch(plain, '\x1b[32m')
  t.match(plain, '\x1b[J')
  t.notMatch(write({ columns: 80, rows: 24 }, { TERM: 'dumb' }, [[initialized]]), '\x1b')
  t.end()
})

t.test('a low terminal shows first what is not finished', (t) => {
  const rows = Array.from(
    { length: 20 },
    (_, i): NodeRow => ({
      ...(i === 7 ? tainted : initialized),
      name: `worker-${i}`,
    }),
  )
  const text = write({ columns: 120, rows: 10 }, { NO_COLOR: '1' }, [rows])
  const [first = ''] = text.split('19 initialized, 1 to go')
  t.match(first, 'worker-7 ')
  t.match(first, 'and 15 more')
  t.ok(first.split('\n').length <= 10)
  t.end()
})
