import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { node, report } from '../../test/fixtures/facts.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { FAILURE_REASONS, REASONS } from '../types/reasons.ts'
import { createMetrics } from './metrics.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const docs = read('docs/metrics.md')

/** The text of metrics of which each has a sample, so that all labels are seen. */
async function sampled(): Promise<string> {
  const clock = { now: () => 0, monotonic: () => 0, sleep: () => Promise.resolve() }
  const metrics = createMetrics({ version: '1.2.3', lease: 'rollcall', clock })
  const refusal = { condition: 'VMFound', reason: 'NoSerial' } as const
  const rest = { events: [], requeue: false }
  const lastTransitionTime = '2026-01-01T00:00:00Z'
  const status = {
    conditions: [
      { type: 'VMFound', status: 'False', reason: 'NoSerial', message: '', lastTransitionTime },
      { type: 'DeletionPending', status: 'Unknown', reason: 'NotConfirmed', message: '', lastTransitionTime },
    ],
  } as const
  metrics.decided('a', { state: 'refused', refusal, status, ...rest }, node())
  metrics.reconciled(1, 'done')
  metrics.workQueue.started(1)
  metrics.workQueue.ended(1)
  metrics.vCenter('main').call('Login', 'ok', 1)
  metrics.vCenter('main').reconnect('Unreachable')
  metrics.vCenter('main').resynced(1, 1)
  metrics.vCenter('main').unwatched(1)
  metrics.vCentersUp(() => [{ name: 'main', up: true, absenceProvable: true, certificateExpiry: 1 }])
  metrics.credentials(() => new Map([['main', true]]))
  metrics.configTaken(1)
  metrics.lifecycle(() => [{ vCenter: 'main', missing: 1, brakeEngaged: true }])
  const inner: KubeClient = {
    request: () => Promise.resolve(report()),
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  }
  const { signal } = new AbortController()
  await metrics.measured(inner).request({ method: 'GET', path: '/api/v1/nodes', signal })
  return metrics.text()
}

const text = await sampled()
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

await t.test('alerts ask for metrics and labels that there are', async (t) => {
  const [, rules = ''] = /^```yaml\n(.*?)^```$/ms.exec(docs) ?? []
  const { groups } = parse(rules)
  const expressions: string[] = groups.flatMap((group: { rules: { expr: string }[] }) =>
    group.rules.map(({ expr }) => expr),
  )
  t.ok(expressions.length > 5)
  for (const expression of expressions) {
    const asked = [...expression.matchAll(/\b((?:rollcall|process|nodejs)_\w+)(?:\{([^}]*)\})?/g)]
    t.ok(asked.length > 0, expression)
    for (const [, series = '', matchers = ''] of asked) {
      const name = series.replace(/_(bucket|count|sum)$/, '')
      t.ok(types.has(series) || types.get(name) === 'histogram', series)
      for (const [, label = ''] of matchers.matchAll(/(\w+) *[=!]/g)) {
        t.ok(labelsOf(name).includes(label), `${series} has the label ${label}`)
      }
    }
  }
})

await t.test('reasons that alerts wait for are given', async (t) => {
  const awaited = [...docs.matchAll(/reason!?=~?\s*"([\w|]+)"/g)].flatMap(([, list = '']) => list.split('|'))
  t.ok(awaited.length > 4)
  const given: readonly string[] = [...REASONS, ...FAILURE_REASONS]
  for (const reason of awaited) t.ok(given.includes(reason), reason)
})
