import t from 'tap'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { type LabelSelector, matches, parseLabelSelector } from './label-selector.ts'

type Labels = Readonly<Record<string, string>>

function parsed(text: string): LabelSelector {
  const selector = parseLabelSelector(text)
  if (!selector.ok) throw new Error(`${text}: ${selector.message}`)
  return selector.value
}

const LINUX: Labels = { os: 'linux', tier: '', in: 'notin', 'example.com/size': '10' }

await t.test('what is picked', async (t) => {
  const cases: readonly [string, Labels, boolean][] = [
    ['os=linux', LINUX, true],
    ['os==linux', LINUX, true],
    ['os = linux', LINUX, true],
    ['os=windows', LINUX, false],
    ['os=linux', {}, false],
    ['os!=windows', LINUX, true],
    ['os!=linux', LINUX, false],
    ['os!=windows', {}, true],
    ['os in (linux, windows)', LINUX, true],
    ['os in(windows)', LINUX, false],
    ['os in (windows)', {}, false],
    ['os notin (windows)', LINUX, true],
    ['os notin (windows,linux)', LINUX, false],
    ['os notin (linux)', {}, true],
    ['os', LINUX, true],
    ['os', {}, false],
    ['!os', {}, true],
    ['! os', LINUX, false],
    ['tier', LINUX, true],
    ['tier=', LINUX, true],
    ['tier=,os=linux', LINUX, true],
    ['tier in ()', LINUX, true],
    ['tier in (a,)', LINUX, true],
    ['tier in (,a)', LINUX, true],
    ['os in (a,,b)', { os: '' }, true],
    ['tier in (a,b)', LINUX, false],
    ['tier!=', LINUX, false],
    ['tier!=', {}, true],
    ['os=linux,!gone,example.com/size', LINUX, true],
    ['os=linux,gone', LINUX, false],
    ['in in (in,notin)', LINUX, true],
    ['in=notin', LINUX, true],
    ['example.com/size>9', LINUX, true],
    ['example.com/size<9', LINUX, false],
    ['example.com/size>9', {}, false],
    ['os>0', LINUX, false],
    ['big>9007199254740992', { big: '9007199254740993' }, true],
    ['big>1', { big: '99999999999999999999' }, false],
    ['constructor', {}, false],
    ['!toString', {}, true],
  ]
  for (const [text, labels, picked] of cases) t.equal(matches(parsed(text), labels), picked, text)
})

await t.test('what is refused, and where', async (t) => {
  const cases: readonly [string, number, RegExp][] = [
    ['', 1, /an empty selector would pick every Node/],
    [' \t', 3, /an empty selector would pick every Node/],
    ['os=linux,', 10, /a label's key/],
    [',os', 1, /a label's key/],
    ['os,,tier', 4, /a label's key/],
    ['os linux', 4, /one of = == != in notin > </],
    ['os=a b', 6, /a comma or the end/],
    ['os=a=b', 5, /a comma or the end/],
    ['os==a==b', 6, /a comma or the end/],
    ['os===a', 5, /a comma or the end/],
    ['!os=linux', 4, /a comma or the end/],
    ['!!os', 2, /a label's key/],
    ['os=!a', 4, /a comma or the end/],
    ['os in', 6, /, \( is expected/],
    ['os in linux', 7, /, \( is expected/],
    ['os in (a', 9, /a comma or \)/],
    ['os in (a b)', 10, /a comma or \)/],
    ['os in (a))', 10, /a comma or the end/],
    ['os notin (a, !b)', 14, /a comma or \)/],
    ['os IN (a)', 4, /one of/],
    ['os constructor a', 4, /one of/],
    ['os>x', 4, /a whole number/],
    ['os<', 4, /a whole number/],
    ['os>99999999999999999999', 4, /a whole number/],
    ['a/b/c', 1, /a label's key/],
    ['/a', 1, /a label's key/],
    ['a/', 1, /a label's key/],
    ['Example.com/a', 1, /a label's key/],
    ['a..b/c', 1, /a label's key/],
    ['-a', 1, /a label's key/],
    ['a_', 1, /a label's key/],
    ['x'.repeat(64), 1, /a label's key/],
    [`${'x.'.repeat(127)}y/a`, 1, /a label's key/],
    ['os=-a', 4, /a label's value/],
    ['os=a:b', 4, /a label's value/],
    ['os=ä', 4, /a label's value/],
    [`os=${'x'.repeat(64)}`, 4, /a label's value/],
    ['os in (a,b/c)', 10, /a label's value/],
  ]
  for (const [text, place, words] of cases) {
    const selector = parseLabelSelector(text)
    if (!t.notOk(selector.ok, text) || selector.ok) continue
    t.match(selector.message, `at character ${place} of it`, text)
    t.match(selector.message, words, text)
    if (text.length > 8) t.notMatch(selector.message, text, 'what was written is not repeated')
  }
  t.equal(parsed(' os = linux ').text, 'os = linux')
})

const MAX_INT64 = '9223372036854775807'
const PAST_INT64 = '9223372036854775808'

/** Everything that can be made of these pieces says more than rows that somebody thought of. */
function* selectors(): Generator<string> {
  const pieces = ['a', 'b', '=', '!=', '!', ',', 'in', 'notin', '(', ')', '1', '>']
  const operators = ['=', '==', '!=', '>', '<', ' in ', ' notin ', '', '!', '===', '=!', '>=']
  const values = [
    '',
    '1',
    'b',
    ' b ',
    '()',
    '(b)',
    '(b,1)',
    '(,b)',
    '(b,)',
    '(,)',
    '(,,)',
    '(b 1)',
    '-',
    'in',
  ]
  for (const one of pieces)
    for (const two of pieces) for (const three of pieces) yield [one, two, three].join(' ')
  for (const bang of ['', '!', '!!'])
    for (const operator of operators)
      for (const value of values)
        for (const rest of ['', ',', ',b', ',!b', ' ,b=1']) yield `${bang}a${operator}${value}${rest}`
  for (const key of ['A/a', 'a.b/c', 'a./c', 'a/b/c', 'a/', '/a', 'a-', '_a', 'x'.repeat(63), 'x'.repeat(64)])
    yield key
  for (const limit of [MAX_INT64, PAST_INT64]) for (const operator of ['>', '<']) yield `a${operator}${limit}`
}

await t.test('the API server picks the same, and refuses the same', async (t) => {
  const cluster = await borrowCluster()
  t.teardown(() => cluster.stop())
  const nodes: Readonly<Record<string, Labels>> = {
    none: {},
    empty: { a: '' },
    one: { a: '1' },
    two: { a: '2', b: '' },
    b: { a: 'b', b: '1' },
    in: { a: 'in', b: 'b' },
    only: { b: 'b', 'a.b/c': 'x' },
    most: { a: MAX_INT64 },
    more: { a: PAST_INT64 },
  }
  for (const [name, labels] of Object.entries(nodes)) {
    const object = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
    const { status } = await cluster.request('POST', '/api/v1/nodes', object)
    t.equal(status, 201)
  }
  const different: string[] = []
  let refused = 0
  let picked = 0
  for (const text of new Set(selectors())) {
    const path = `/api/v1/nodes?labelSelector=${encodeURIComponent(text)}`
    const { status, body } = await cluster.request<{ items?: { metadata: { name: string } }[] }>('GET', path)
    const theirs =
      status === 200
        ? body.items
            ?.map(({ metadata }) => metadata.name)
            .sort()
            .join(' ')
        : `${status}`
    const selector = parseLabelSelector(text)
    const ours = selector.ok
      ? Object.entries(nodes)
          .filter(([, labels]) => matches(selector.value, labels))
          .map(([name]) => name)
          .sort()
          .join(' ')
      : '400'
    if (ours !== theirs) different.push(`${text}: ours ${ours}, theirs ${theirs}`)
    if (status === 400) refused += 1
    else picked += 1
  }
  t.same(different, [])
  t.ok(refused > 500 && picked > 200, `${refused} refused, ${picked} read`)
})
