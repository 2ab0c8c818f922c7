import { PassThrough } from 'node:stream'
import t from 'tap'
import { createRecorder, picture } from './picture.ts'
import {
  createNarrator,
  createScreen,
  createStyle,
  type DemoScreen,
  type NodeProgress,
  wrap,
} from './screen.ts'
import { renderSummary, type Summary } from './summary.ts'

/** A narrator's screen of 40 columns, and what was printed on it. */
function narrated(color = false) {
  const lines: string[] = []
  const screen: DemoScreen = {
    style: createStyle(color),
    columns: 40,
    print: (...shown) => void lines.push(...shown),
  }
  return { narrator: createNarrator(screen), lines }
}

t.test('a line for each change of state', async (t) => {
  const tainted: NodeProgress = { name: 'worker-1', state: 'tainted', level: '', details: [''] }
  const initialized: NodeProgress = {
    ...tainted,
    state: 'initialized',
    level: 'proven',
    details: ['VM0', '', 'zone-a'],
  }
  const forger: NodeProgress = {
    ...tainted,
    name: 'forger',
    state: 'refused',
    details: ['ClaimedByAnotherNode'],
  }
  const rows: NodeProgress[] = [
    { ...tainted, state: 'waiting' },
    tainted,
    tainted,
    { ...initialized, level: '' },
    initialized,
    initialized,
    forger,
  ]
  const { narrator, lines } = narrated()
  for (const [i, row] of rows.entries()) narrator.node(row, i * 100)
  t.same(lines, [
    ' +0.10 s  worker-1  tainted',
    ' +0.40 s  worker-1  initialized  proven  VM0  zone-a',
    ' +0.60 s  forger  refused  ClaimedByAnotherNode',
  ])
  const colored = narrated(true)
  colored.narrator.node(initialized, 0)
  t.match(colored.lines[0], '\x1b[32minitialized\x1b[39m')
})

t.test('what happens, and once what is waited for', async (t) => {
  const { narrator, lines } = narrated()
  narrator.open('A VM goes:', 'the first of them all, and nobody knows where it went')
  narrator.wait('it is seen')
  narrator.wait('it is seen')
  narrator.say('it is seen on a host with a long name of its own', 1_234)
  narrator.say('that is all')
  t.same(lines, [
    '',
    'A VM goes: the first of them all, and',
    'nobody knows where it went',
    '          waiting until it is seen ...',
    '  +1.2 s  it is seen on a host with a',
    '          long name of its own',
    '          that is all',
  ])
})

t.test('colors are for terminals alone, and NO_COLOR or TERM=dumb takes them away', async (t) => {
  for (const [isTTY, env, colored] of [
    [true, {}, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [undefined, {}, false],
  ] as const) {
    const stream = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    const screen = createScreen(stream as unknown as NodeJS.WriteStream, env)
    screen.print(screen.style('red', 'refused'))
    t.equal(stream.read(), colored ? '\x1b[31mrefused\x1b[39m\n' : 'refused\n')
    t.equal(screen.columns, 100, 'where it has no size')
  }
})

t.test('lines are no longer than they may be, unless an item is', async (t) => {
  t.same(wrap(['one', 'two', 'three'], 7), ['one two', 'three'])
  t.same(wrap(['a', 'verylongword', 'b'], 5, ', '), ['a', 'verylongword', 'b'])
})

t.test('a picture has what stays on the screen, but for what commands say', async (t) => {
  const printed: string[] = []
  const recorder = createRecorder((line) => printed.push(line))
  recorder.print('begin', '')
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
