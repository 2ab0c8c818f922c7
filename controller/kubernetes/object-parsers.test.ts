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

t.test('a version that comes twice is one object', async (t) => {
  const parsers = createObjectParsers()
  const answer = parsers.node(node(7))
  t.equal(parsers.node(node(7)), answer)
  t.not(parsers.node(node(8)), answer)
  const report = parsers.report(node(7))
  t.equal(parsers.report(node(7)), report, 'reports are counted apart')
  t.not(report, answer)
})

t.test('after a restore from a backup, a version is of whichever object it is now', async (t) => {
  const parsers = createObjectParsers()
  parsers.node(node(7))
  t.match(parsers.node(node(7, { name: 'b' })), { name: 'b' })
  t.match(parsers.node(node(7, { uid: 'new' })), { name: 'a', uid: 'new' })
})

t.test('a version that has come twice, or long ago, is not kept', async (t) => {
  const parsers = createObjectParsers()
  const first = parsers.node(node(1))
  t.equal(parsers.node(node(1)), first)
  t.not(parsers.node(node(1)), first, 'it came twice before')
  const old = parsers.node(node(2))
  for (let version = 3; version < 300; version++) parsers.node(node(version))
  t.not(parsers.node(node(2)), old)
})

t.test('what nobody reads is dropped, and what is no object of the kind is nothing', async (t) => {
  const parsers = createObjectParsers(new Set(['zone']))
  t.same(parsers.node(node(1, { labels: { zone: 'z', other: 'o' } }))?.labels, { zone: 'z' })
  const { creationTimestamp: _, ...incomplete } = node(2).metadata
  for (const object of [undefined, 'text', { metadata: {} }, { metadata: incomplete }])
    t.equal(parsers.node(object), undefined)
})
