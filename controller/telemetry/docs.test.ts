import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { FAILURE_REASONS, REASONS } from '../types/reasons.ts'
import { sampledMetrics } from './testing/sampled-metrics.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const docs = read('docs/metrics.md')
const rules = read('manifests/components/monitoring/rules.yaml')

const text = await sampledMetrics()
const types = new Map(
  [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
)

/** Labels of a metric's samples, without the bucket's own. */
function labelsOf(name: string): string[] {
  const suffix = types.get(name) === 'histogram' ? '_count' : ''
  const [, labels = ''] = new RegExp(`^${name}${suffix}(?:\\{(.*)\\})? `, 'm').exec(text) ?? []
  return [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label)
}

await t.test('every metric stands in a table with its labels, and no other', async (t) => {
  const rows = [...docs.matchAll(/^\| `(\w+_\w+)` \|([^|]*)\| ([^|]*) \|$/gm)].map(
    ([, name = '', labels = '', meaning = '']) => ({ name, labels, meaning }),
  )
  t.same(rows.map(({ name }) => name).sort(), [...types.keys()].sort())
  for (const { name, labels, meaning } of rows) {
    t.same(
      [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label),
      labelsOf(name),
      name,
    )
    t.equal(meaning.startsWith('Histogram'), types.get(name) === 'histogram', `${name} is a histogram`)
  }
})

await t.test('every state of a Node is explained, and no other', async (t) => {
  const [, table = ''] = /^\| state \| meaning \|\n((?:^\|.*\n)+)/m.exec(docs) ?? []
  const explained = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, state]) => state)
  const states = [...text.matchAll(/^rollcall_nodes\{state="(\w+)"\}/gm)].map(([, state]) => state)
  t.ok(states.length > 0)
  t.same(explained, states)
})

await t.test('reasons that alerts wait for are given', async (t) => {
  const awaited = [...rules.matchAll(/reason!?=~?\s*"([\w|]+)"/g)].flatMap(([, list = '']) => list.split('|'))
  t.ok(awaited.length > 4)
  const given: readonly string[] = [...REASONS, ...FAILURE_REASONS]
  for (const reason of awaited) t.ok(given.includes(reason), reason)
})
