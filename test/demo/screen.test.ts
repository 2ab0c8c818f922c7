import { PassThrough } from 'node:stream'
import t from 'tap'
import { createRecorder, picture } from './picture.ts'
import {
  createBoard,
  createNarrator,
  createScreen,
  createStyle,
  type Row,
  type Screen,
  wrap,
} from './screen.ts'
import { renderSummary, type Summary } from './summary.ts'

const tainted: Row = {
  name: 'worker-1',
  state: 'tainted',
  level: '',
  vm: '',
  host: '',
  zone: '',
  addresses: '',
  after: '',
  note: '',
}
const initialized: Row = {
  ...tainted,
  state: 'initialized',
  level: 'proven',
  vm: 'VM0',
  host: 'H0',
  zone: 'zone-a',
  addresses: '10.0.0.5',
  after: '0.42 s',
  note: 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
}

/** What a board wrote to a stream, which is a terminal where it has a size. */
function write(
  size: { columns: number; rows: number } | undefined,
  env: NodeJS.ProcessEnv,
  rows: readonly Row[][],
) {
  const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY: size !== undefined, ...size })
  const board = createBoard(createScreen(stream as unknown as NodeJS.WriteStream, env))
  for (const [i, some] of rows.entries()) board.show(some, i * 100)
  board.end()
  board.end()
  return String(stream.read() ?? '')
}

t.test('without a terminal: a plain line for each change of state', async (t) => {
  const waiting: Row = { ...tainted, state: 'waiting' }
  const unproven: Row = { ...initialized, level: '' }
  const all = [[waiting], [tainted], [tainted], [unproven], [initialized], [initialized]]
  t.same(write(undefined, {}, all).trim().split(/\n */), [
    '+0.10 s  worker-1  tainted',
    '+0.40 s  worker-1  initialized  proven  VM0  H0  zone-a  10.0.0.5  vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
  ])
})

t.test('on a terminal: one table, drawn over, whole at the end, and the cursor comes back', async (t) => {
  const text = write({ columns: 40, rows: 24 }, {}, [[tainted], [initialized]])
  t.match(text, '\x1b[32minitialized\x1b[39m')
  t.equal(text.split('os-ubuntu').length, 2, 'cut while it is drawn over, whole once')
  t.equal(text.split('\x1b[?25l').length, 2)
  t.equal(text.split('\x1b[?25h').length, 2)
  t.ok(text.indexOf('\x1b[?25h') > text.lastIndexOf('\x1b[?25l'))
})

t.test('who is refused is counted apart, and nobody is waited for any more', async (t) => {
  const refused: Row = { ...tainted, name: 'forger', state: 'refused', note: 'ClaimedByAnotherNode' }
  const text = write({ columns: 120, rows: 24 }, {}, [
    [initialized, tainted],
    [initialized, refused],
  ])
  t.match(text, '1 initialized, 1 to go, ')
  t.match(text, '1 initialized, 1 refused, ')
  t.match(text, '\x1b[31mrefused\x1b[39m')
  t.match(text, /forger .*ClaimedByAnotherNode/)
})

t.test('NO_COLOR takes the colors away, TERM=dumb the drawing as well', async (t) => {
  const plain = write({ columns: 80, rows: 24 }, { NO_COLOR: '1' }, [[initialized]])
  t.notMatch(plain, '\x1b[32m')
  t.match(plain, '\x1b[J')
  t.notMatch(write({ columns: 80, rows: 24 }, { TERM: 'dumb' }, [[initialized]]), '\x1b')
})

t.test('a low terminal shows first what is not finished', async (t) => {
  const rows = Array.from(
    { length: 20 },
    (_, i): Row => ({
      ...(i === 7 ? tainted : initialized),
      name: `worker-${i}`,
    }),
  )
  const text = write({ columns: 120, rows: 10 }, { NO_COLOR: '1' }, [rows])
  const [first = ''] = text.split('19 initialized, 1 to go')
  t.match(first, 'worker-7 ')
  t.match(first, 'and 15 more')
  t.ok(first.split('\n').length <= 10)
})

/** A narrator's screen of 40 columns, and what it was told to show. */
function narrated(live: boolean) {
  const lines: string[][] = []
  const keep = (...shown: readonly string[]) => void lines.push([...shown])
  const screen: Screen = { style: createStyle(false), live, columns: 40, rows: 24, print: keep, draw: keep }
  return { narrator: createNarrator(screen), lines }
}

t.test('a plain screen is told once what is waited for', async (t) => {
  const { narrator, lines } = narrated(false)
  narrator.open('A VM goes:', 'the first of them all, and nobody knows where it went')
  narrator.wait('it is seen', 10)
  narrator.wait('it is seen', 60)
  narrator.say('it is seen on a host with a long name of its own', 1_234)
  narrator.say('that is all')
  t.same(lines, [
    ['', 'A VM goes: the first of them all, and', 'nobody knows where it went'],
    ['          waiting until it is seen ...'],
    ['  +1.2 s  it is seen on a host with a', '          long name of its own'],
    ['          that is all'],
  ])
})

t.test('a live one sees the time go by, in a line that is drawn over', async (t) => {
  const { narrator, lines } = narrated(true)
  narrator.wait('it is seen', 10)
  narrator.wait('it is seen, which takes a long, long time', 1_060)
  narrator.say('it is seen', 1_234)
  t.same(lines, [
    ['          waiting until it is seen ... 0'],
    ['          waiting until it is seen, whic'],
    ['  +1.2 s  it is seen'],
  ])
})

t.test('lines are no longer than they may be, unless an item is', async (t) => {
  t.same(wrap(['one', 'two', 'three'], 7), ['one two', 'three'])
  t.same(wrap(['a', 'verylongword', 'b'], 5, ', '), ['a', 'verylongword', 'b'])
})

t.test('a picture has what stays on the screen, but for what commands say', async (t) => {
  const printed: string[] = []
  const recorder = createRecorder((line) => printed.push(line))
  recorder.print('begin', '')
  recorder.draw('one of two')
  recorder.print('two of two')
  recorder.print('', recorder.style('bold', '$ kubectl get nodes'), 'NAME\nforger', '', 'end')
  t.strictSame(recorder.lines(), ['begin', '', 'two of two', '', 'end'])
  t.match(printed, ['begin', '', 'two of two', '', /\$ kubectl get nodes/, 'NAME\nforger', '', 'end'])
  const svg = picture([`a ${recorder.style('red', '<b>')} & c`])
  t.match(svg, /<tspan x="14\.0"[^>]*>a <\/tspan>/)
  t.match(svg, /<tspan x="28\.5"[^>]*fill="#ff8389">&lt;b><\/tspan>/)
  t.match(svg, /<tspan x="50\.2" textLength="28\.9"> &amp; c<\/tspan>/)
})

t.test('the last words', async (t) => {
  const summary: Summary = {
    nodes: 3,
    right: 2,
    forger: 'not tried',
    setUp: 4321,
    initialized: [2500, 420],
    calls: {
      total: 9,
      operations: { Login: 1, RetrievePropertiesEx: 5, 'REST GET /rest/com/vmware/cis/tagging/tag/*': 3 },
    },
    sessions: { soap: 1, rest: 1 },
    total: 65_000,
  }
  const words = (change: Partial<Summary> = {}, columns = 120) =>
    renderSummary({ ...summary, ...change }, columns).join('\n')
  t.match(words(), '2 of 3 proven, and initialized as vCenter says; the forger did not come')
  t.match(words(), 'the first 0.42 s after its registration, the last 2.5 s')
  t.match(words(), '5 RetrievePropertiesEx, 3 REST GET tagging/tag/*, 1 Login')
  t.match(words(), '1 min 05 s in all, 4.3 s of it')
  t.match(words(), /lifecycle +not shown to the end/)
  t.match(words({ deletedAfter: 4_321 }), /lifecycle +not shown to the end/)
  t.match(
    words({ deletedAfter: 4_321, taintedAfter: 70 }),
    '1 Node deleted 4.3 s after its VM, 1 tainted 0.07 s after power-off',
  )
  t.match(words({ right: 3, forger: 'refused' }), /all 3 proven, .*; 1 forger refused/)
  t.match(words({ forger: 'wrong' }), 'a forger was not refused')
  t.match(words({ initialized: [] }), /initialized +none/)
  const narrow = words({}, 40)
    .split('\n')
    .filter((line) => /^ *\d /.test(line))
  t.equal(narrow.length, 3)
  t.ok(narrow.every((line) => line.length <= 45))
})
