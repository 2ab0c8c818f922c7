import t from 'tap'
import { createObjectParsers } from './object-parsers.ts'

interface Given {
  readonly name?: string
  readonly uid?: string
  readonly labels?: Readonly<Record<string, string>>
}

const node = (version: number, { name = 'a', uid = `uid-${name}`, labels = {} }: Given = {}) => ({
  metadata: {
    name,
    uid,
    resourceVersion: String(version),
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels,
  },
})

t.test('what the watch shows of an answer is the same object', async (t) => {
  const parsers = createObjectParsers()
  const answer = parsers.node.answer(node(7))
  t.match(answer, { name: 'a', resourceVersion: '7' })
  t.not(parsers.node.shown(node(8)), answer)
  t.equal(parsers.node.shown(node(7)), answer)
  t.not(parsers.node.shown(node(7)), answer, 'once')
})

t.test('another object with that version is parsed', async (t) => {
  const parsers = createObjectParsers()
  const answer = parsers.node.answer(node(7))
  t.match(parsers.node.shown(node(7, { name: 'b' })), { name: 'b' })
  t.match(parsers.node.shown(node(7, { uid: 'new' })), { name: 'a', uid: 'new' })
  const report = parsers.report.shown(node(7))
  t.match(report, { name: 'a' })
  t.not(report, answer)
})

t.test('few answers are kept, and nothing else', async (t) => {
  const parsers = createObjectParsers()
  const shown = parsers.node.shown(node(1))
  t.not(parsers.node.shown(node(1)), shown)
  const first = parsers.node.answer(node(2))
  for (let version = 3; version < 40; version++) parsers.node.answer(node(version))
  t.not(parsers.node.shown(node(2)), first)
})

t.test('labels that nobody reads are dropped, and anything else is undefined', async (t) => {
  const { node: parser } = createObjectParsers(new Set(['zone']))
  const labels = { zone: 'z', other: 'o' }
  for (const parse of [parser.answer, parser.shown]) {
    t.same(parse(node(1, { labels }))?.labels, { zone: 'z' })
    const { creationTimestamp: _, ...incomplete } = node(2).metadata
    for (const object of [undefined, 'text', { metadata: {} }, { metadata: incomplete }])
      t.equal(parse(object), undefined)
  }
})
