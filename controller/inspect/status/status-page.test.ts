import t from 'tap'
import { fail, fine, type Line, warn } from '../../../agent/shared/diagnosis.ts'
import { sampleCluster } from '../../../test/page/sample-cluster.ts'
import type { NodeStatus } from './node-status.ts'
import { html, statusPage } from './status-page.ts'

const made = { at: '2026-03-01T10:00:00Z', version: '1.2.3', context: 'prod' }
const pageOf = (size: number, changes: Partial<ReturnType<typeof sampleCluster>> = {}) =>
  statusPage({ ...made, ...sampleCluster(size), ...changes })
const section = (page: string, id: string) => page.split(`id="${id}"`)[1]?.split('</section>')[0] ?? ''

t.test('all that the table says is there, each Node once among its hosts', async (t) => {
  const { status } = sampleCluster(200)
  const page = pageOf(200)
  const places = section(page, 'places')
  for (const { name, host = '', cluster = '', zone = '' } of status.nodes) {
    t.equal(places.split(`<bdi>${name}</bdi>`).length, 2, name)
    for (const text of [host, cluster, zone]) t.ok(places.includes(text), text)
  }
  const totals = section(page, 'totals')
  for (const [state, nodes] of Map.groupBy(status.nodes, (node) => node.state))
    t.match(totals, new RegExp(`<b>${nodes.length}</b> <span>\\S+ ${state}</span>`))
  t.match(page, status.leader)
  t.match(page, 'prod, 2026-03-01 10:00:00 UTC')
})

t.test('the Nodes that need a person come first, by reason, with what is to be done', async (t) => {
  const { status } = sampleCluster(200)
  const page = pageOf(200)
  const held = section(page, 'attention')
  for (const { name, state, pending } of status.nodes.filter(
    (node) => node.pending && node.state !== 'unmanaged',
  )) {
    t.ok(held.includes(name), name)
    t.ok(held.includes(`${state}: ${pending?.reason}`), name)
  }
  t.ok(page.indexOf('id="attention"') < page.indexOf('id="places"'))
  t.match(held, /VM gone: .*VM missing: .*waiting: /s, 'the worst first')
  t.match(held, /the brake on deletions is engaged/)
})

t.test('many Nodes with one reason are one entry, and closed', async (t) => {
  const nodes = sampleCluster(2_000).status.nodes.map(
    (node): NodeStatus => ({
      ...node,
      state: 'waiting',
      pending: { condition: 'VMFound', reason: 'Unreachable', message: 'vCenter does not answer' },
    }),
  )
  const held = section(pageOf(2_000, { status: { ...sampleCluster(2_000).status, nodes } }), 'attention')
  t.equal(held.split('<details').length, 2)
  t.notMatch(held, ' open>')
  t.equal(held.split('vCenter does not answer').length, 2)
  t.match(held, '<span>2000 Nodes</span>')
  t.match(held, 'and 1800 more')
})

t.test('a page stays small, and its clusters are closed where they are many', async (t) => {
  t.match(section(pageOf(10), 'places'), '<details class="cluster" open>')
  const large = pageOf(2_000)
  t.notMatch(section(large, 'places'), ' open>')
  t.ok(large.length < 1_000_000, `${large.length} characters`)
})

t.test('what doctor finds: what failed, then warnings, and what is well behind them', async (t) => {
  const checks: Line[] = [
    { check: 'Lease', ...fine('held') },
    { check: 'CRD', ...warn('older') },
    { check: 'vCenter main: login', ...fail('refused; change the password') },
  ]
  const found = section(pageOf(10, { checks }), 'checks')
  t.match(found, /fail: vCenter main: login<\/b> refused; change .*warn: CRD.*<details>.*1 ok.*Lease/s)
})

t.test('nothing to do, and no Nodes', async (t) => {
  const { status } = sampleCluster(10)
  const nodes = status.nodes.filter(({ pending }) => pending === undefined)
  const troubles = { at: '', troubles: [] }
  t.match(
    section(pageOf(10, { status: { ...status, nodes, troubles, notes: [], unknown: [] } }), 'attention'),
    '✓ Nothing',
  )
  t.match(pageOf(10, { status: { ...status, nodes: [], of: 0 } }), '<title>0 Nodes in vSphere</title>')
})

t.test('who does not lead, and what could not be read, is at the top', async (t) => {
  const { status } = sampleCluster(10)
  const page = pageOf(10, { status: { ...status, leads: false, unknown: ['NodeReports cannot be read'] } })
  t.match(section(page, 'attention'), `! ${status.leader}`)
  t.match(section(page, 'attention'), '! NodeReports cannot be read')
})

t.test('names of strangers stay text, and cannot turn the writing around', async (t) => {
  const evil = `</style><script>alert(1)</script>"' onload=x \u202egnp.exe\u2066`
  const { status } = sampleCluster(10)
  const [node] = status.nodes
  if (node === undefined) throw new Error('there is no Node')
  const texts: Partial<Record<keyof NodeStatus, string>> = {}
  for (const key of [
    'name',
    'vCenter',
    'datacenter',
    'cluster',
    'host',
    'vm',
    'zone',
    'region',
    'agentVersion',
    'brakeEngagedFor',
  ] as const)
    texts[key] = evil
  const pending = { condition: 'VMFound', reason: evil, message: evil } as const
  const hostile = { ...node, ...texts, state: 'waiting', pending } as NodeStatus
  const page = statusPage({
    ...made,
    version: evil,
    context: evil,
    checks: [{ check: evil, ...fail(evil) }],
    status: {
      ...status,
      nodes: [hostile],
      leader: evil,
      troubles: { at: evil, troubles: [{ key: evil, message: evil, since: evil }] },
      notes: [evil],
      unknown: [evil],
    },
  })
  t.notMatch(page, /<script|[\u202a-\u202e\u2066-\u2069]/)
  // What is left of it is between tags that are ours.
  t.strictSame(
    [...new Set([...page.matchAll(/<\/?([a-z0-9]+)/g)].map(([, tag]) => tag))].sort(),
    [...OURS].sort(),
  )
  t.notMatch(page, /<[^>]*onload/)
  t.equal(page.split('</style>').length, 2)
})

const OURS =
  'b bdi body dd details div dl dt h1 h2 h3 h4 head header html li main meta p section small span style summary title ul'.split(
    ' ',
  )

t.test('what is put into a page is text, whatever it holds', async (t) => {
  const evil = `</p><script>alert("1")</script><img src=x onerror='x'>&amp;`
  t.equal(html`<p title="${evil}">${evil}</p>`.text, `<p title="${shown(evil)}">${shown(evil)}</p>`)
  t.equal(html`${'a\u202eb\u2066c\u0000d\u2028e\u200ff'}`.text, 'a\ufffdb\ufffdc\ufffdd\ufffde\ufffdf')
  t.ok(html`${'<'.repeat(1 << 20)}`.text.length < 5_000, 'and is not long')
})

t.test('pieces are put together as they are, and nothing where there is none', async (t) => {
  const items = ['<a>', 'b'].map((name) => html`<li>${name}</li>`)
  t.equal(html`<ul>${items}${undefined}${3}</ul>`.text, '<ul><li>&lt;a&gt;</li><li>b</li>3</ul>')
})

function shown(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}
