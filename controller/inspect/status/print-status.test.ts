import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { withTroubles } from '../../kubernetes/lease-troubles.ts'
import { clockNote, compareWithOurs, leaderOf, leaderText, readLeader } from './leader.ts'
import type { NodeStatus } from './node-status.ts'
import { chosen, inOrder, type NodeFilter, printStatus, statusJSON } from './print-status.ts'

const row = (name: string, changes: Partial<NodeStatus> = {}): NodeStatus => ({
  name,
  state: 'initialized',
  pending: undefined,
  level: 'proven',
  vCenter: 'main',
  datacenter: 'DC0',
  cluster: 'C0',
  host: 'esx-1',
  vm: name,
  power: 'on',
  zone: 'zone-a',
  region: 'r',
  ready: 'True',
  agentVersion: undefined,
  brakeEngagedFor: undefined,
  ...changes,
})
const held = {
  state: 'VM gone',
  pending: { condition: 'DeletionPending', reason: 'BrakeEngaged', message: 'm' },
  brakeEngagedFor: 'main',
} as const
const leader = 'a leads'
const all = (nodes: readonly NodeStatus[]) => ({ nodes, of: nodes.length, leader, unknown: [], notes: [] })

t.test('Nodes stand by vCenter, cluster, host and name, those of nowhere last', async (t) => {
  const nodes = [
    row('n0', { vCenter: undefined, cluster: undefined, host: undefined }),
    row('n10', { host: 'esx-10' }),
    row('n2', { host: 'esx-2' }),
    row('n1', { cluster: 'B' }),
    row('n3', { host: 'esx-2', vCenter: 'edge' }),
    row('a1', { host: 'esx-2' }),
  ]
  t.same(
    inOrder(nodes).map(({ name }) => name),
    ['n3', 'n1', 'a1', 'n2', 'n10', 'n0'],
  )
})

t.test('a table, how many are in which state, and what is not known', async (t) => {
  const nodes = [row('worker-1'), row('worker-2', { ...held, zone: undefined, power: undefined })]
  t.equal(
    printStatus({ ...all(nodes), unknown: ['NodeReports cannot be read: no'] }),
    `VCENTER  CLUSTER  HOST   NODE      IDENTITY  ZONE    POWER  STATE        PENDING
main     C0       esx-1  worker-1  proven    zone-a  on     initialized  -
main     C0       esx-1  worker-2  proven    -       -      VM gone      BrakeEngaged

2 Nodes: 1 initialized, 1 VM gone; why: rollcall-controller explain NODE
the brake on deletions is engaged for 1 Node of vCenter main
a leads
! NodeReports cannot be read: no
`,
  )
  t.equal(printStatus(all([])), 'there are no Nodes\na leads\n')
})

t.test('a small screen keeps what is not well, and no line is longer than it', async (t) => {
  const nodes = [...Array.from({ length: 50 }, (_, index) => row(`worker-${index}`)), row('lost', held)]
  const text = printStatus(all(nodes), { columns: 40, rows: 12 })
  const lines = text.trimEnd().split('\n')
  t.ok(lines.length < 12)
  t.ok(lines.every((line) => line.length <= 40))
  t.match(text, 'lost')
  t.match(text, /^and \d\d more$/m)
})

t.test('what strangers named cannot control the terminal', async (t) => {
  const evil = '\u001b]0;x\u0007\u202e'
  const text = printStatus({
    ...all([row('a', { host: evil, zone: evil })]),
    leader: evil,
    unknown: [evil],
    notes: [evil],
  })
  t.notMatch(text, /[^\n -~\ufffd]/)
})

t.test('a program reads one object in a line', async (t) => {
  const text = statusJSON(all([row('a')]))
  t.equal(text.trimEnd().split('\n').length, 1)
  t.match(JSON.parse(text), { nodes: [{ name: 'a', level: 'proven' }], leader, unknown: [] })
})

t.test('who leads', async (t) => {
  const lease = { namespace: 'kube-system', name: 'rollcall-controller' }
  const renewTime = '2026-03-01T10:00:00.000000Z'
  const record = { holder: 'pod_1', durationSeconds: 15, acquireTime: '', renewTime, transitions: 0 }
  const now = Date.parse(renewTime)
  t.equal(
    leaderText(record, lease, now + 20_000),
    'pod_1 leads, and holds the Lease kube-system/rollcall-controller',
  )
  t.match(
    leaderText(record, lease, now + 80_000),
    /^pod_1 held .* until 2026-03-01T10:00:00.000000Z, and no replica has/,
  )
  t.match(leaderText({ ...record, holder: '' }, lease, now), /^no replica has held/)
  t.match(leaderText(undefined, lease, now), /^no replica has ever held/)
  const { text, leads } = leaderOf({ record: { ...record, holder: '' }, annotations: {} }, lease, now)
  t.match(printStatus({ ...all([]), leader: text, leads }), /^! no replica has held/m)
})

t.test('a clock of this machine that differs is said', async (t) => {
  t.same(clockNote(59_000), [])
  t.match(clockNote(300_000), [/^the clock of this machine is 5m behind that of the API server, by which/])
  t.match(clockNote(-300_000), [/is 5m ahead of that/])
})

t.test('that the clocks could not be compared is said as well', async (t) => {
  const client: KubeClient = {
    request: () => Promise.reject(new Error('selfsubjectreviews is forbidden')),
    stream: () => Promise.reject(new Error('not used')),
    close: async () => undefined,
  }
  t.match(await compareWithOurs(client, createHandClock(), new AbortController().signal), {
    skew: 0,
    notes: [
      /^whether the clock of this machine agrees .* is not known, .*: selfsubjectreviews is forbidden$/,
    ],
  })
})

t.test('filters', async (t) => {
  const nodes = [
    row('a', { vCenter: 'edge', zone: 'zone-b' }),
    row('b', { ready: 'False' }),
    row('c', { ready: 'Unknown', zone: undefined }),
    row('d', { state: 'waiting', vCenter: undefined, zone: undefined }),
    row('e'),
  ]
  const none = { names: [], vCenter: undefined, zone: undefined, notReady: false }
  const names = (filter: Partial<NodeFilter>) =>
    chosen(nodes, { ...none, ...filter }).nodes.map(({ name }) => name)
  t.same(names({}), ['a', 'b', 'c', 'd', 'e'])
  t.same(names({ names: ['e', 'a'] }), ['a', 'e'])
  t.same(names({ vCenter: 'main' }), ['b', 'c', 'e'])
  t.same(names({ zone: 'zone-a' }), ['b', 'e'])
  t.same(names({ notReady: true }), ['b', 'c', 'd'], 'those that wait as well')
  t.same(names({ vCenter: 'main', notReady: true, names: ['c', 'd'] }), ['c'])
  const shown = (filter: Partial<NodeFilter>) =>
    printStatus({ leader, unknown: [], ...chosen(nodes, { ...none, ...filter }) })
  t.match(shown({ names: ['a'] }), /^1 of 5 Nodes: 1 initialized$/m)
  t.equal(
    shown({ vCenter: 'mian', zone: 'zone-c' }),
    `none of 5 Nodes fits
a leads
! no Node is known to be in vCenter mian, only in edge, main
! no Node is known to be in zone zone-c, only in zone-a, zone-b
`,
  )
})

t.test('wide, with all that is known', async (t) => {
  const nodes = [row('a'), row('b', { ...held, zone: undefined, region: undefined })]
  const [header, a, b] = printStatus(all(nodes), undefined, true).split('\n')
  t.match(header, /PENDING +READY +AGENT +DATACENTER +VM +REGION +MESSAGE$/)
  t.match(a, / - +True +- +DC0 +a +r +-$/)
  t.match(b, / BrakeEngaged +True +- +DC0 +b +- +m$/)
})

t.test('versions of agents, and which of them are silent', async (t) => {
  const silent = { condition: 'AgentReports', reason: 'AgentSilent', message: 'm' } as const
  const nodes = [
    row('a', { agentVersion: '0.1.0' }),
    row('b', { agentVersion: '0.0.9', pending: silent }),
    row('c', { agentVersion: '0.1.0', pending: silent }),
    row('d'),
  ]
  const text = printStatus(all(nodes))
  t.match(text, /^agents: 2 of version 0\.1\.0, 1 of version 0\.0\.9; silent: 2 \(b, c\)$/m)
  const many = Array.from({ length: 50 }, (_, index) => row(`n${index}`, { agentVersion: `0.${index}.0` }))
  t.match(printStatus(all(many)), /^agents: .*0\.4\.0, and others$/m)
})

const LEASE = { namespace: 'kube-system', name: 'rollcall-controller' }
const RENEWED = '2026-01-01T00:00:00.000000Z'
const RECORD = { holder: 'pod_1', durationSeconds: 15, acquireTime: '', renewTime: RENEWED, transitions: 0 }
const annotations = withTroubles(
  {},
  {
    by: 'pod_1',
    at: '2026-01-01T00:00:00Z',
    troubles: [{ key: 'k', message: 'vCenter vc1: InvalidLogin', since: '2025-12-31T23:00:00Z' }],
  },
)

t.test('what troubles the leader, and what troubled it before it stopped', async (t) => {
  const now = Date.parse(RENEWED)
  const leads = leaderOf({ record: RECORD, annotations }, LEASE, now)
  t.match(leads, { leads: true, troubles: { troubles: [{ message: 'vCenter vc1: InvalidLogin' }] } })
  t.match(
    printStatus({ ...all([]), leader: leads.text, troubles: leads.troubles }),
    /leads.*\n! vCenter vc1: InvalidLogin \(since 2025-12-31T23:00:00Z; the leader wrote this at 2026-01-01T00:00:00Z\)\n$/,
  )
  const other = { ...RECORD, holder: 'pod_2' }
  t.match(leaderOf({ record: other, annotations }, LEASE, now), { leads: true, troubles: undefined })
  t.match(
    printStatus({ ...all([]), leader: 'pod_2 leads', leads: true }),
    /^pod_2 leads\nthe leader has not reported yet whether it has problems/m,
  )
  t.notMatch(printStatus({ ...all([]), leader: leads.text, ...leads }), /not reported yet/)
  const stopped = leaderOf({ record: RECORD, annotations }, LEASE, now + 3 * 3_600_000)
  t.match(stopped, {
    leads: false,
    text: /no replica has held it for 3h: check/,
    troubles: { troubles: { length: 1 } },
  })
  t.match(leaderOf({ record: { ...RECORD, holder: '' }, annotations }, LEASE, now), { leads: false })
  t.match(leaderOf(undefined, LEASE, now), { leads: false, troubles: undefined })
})

t.test('a Lease that looks old, and is renewed: only the clocks differ', async (t) => {
  const clock = createHandClock()
  const { signal } = new AbortController()
  const reading = async (...renewTimes: readonly string[]) => {
    let reads = 0
    const client: KubeClient = {
      request: async () => ({
        metadata: { resourceVersion: '1' },
        spec: { holderIdentity: 'pod_1', leaseDurationSeconds: 15, renewTime: renewTimes[reads++] },
      }),
      stream: () => Promise.reject(new Error('not used')),
      close: async () => undefined,
    }
    const read = readLeader(client, LEASE, clock, signal)
    await clock.turn(5_000)
    return { ...(await read), reads }
  }
  const [old, renewed] = ['2025-12-31T20:00:00.000000Z', '2025-12-31T20:00:03.000000Z']
  t.match(await reading(old, renewed), { leads: true, reads: 2, text: /^pod_1 leads/ })
  t.match(await reading(old, old), { leads: false, reads: 2, text: /no replica has held it/ })
  const over = '2025-12-31T23:59:40.000000Z'
  t.match(await reading(over, over), { leads: false }, 'one that was killed 20 s ago is not said to lead')
  t.match(await reading('2026-01-01T00:00:08.000000Z'), { leads: true, reads: 1 })
})
