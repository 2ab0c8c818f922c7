import type { Test } from 'tap'
import t from 'tap'
import { ApiError } from '../../../agent/shared/api-error.ts'
import type { NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { node as nodeFacts } from '../../../test/fixtures/facts.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { copyCluster } from '../../inspect/plan/copied-cluster.ts'
import type { KubeRequest } from '../../kubernetes/client.ts'
import { observed } from '../../kubernetes/testing/cluster-client.ts'
import { createLogLines } from '../../kubernetes/testing/log-lines.ts'
import type { PolicyState } from '../../types/cluster-state.ts'
import { createApprovalRates, startCertificateLoop } from './loop.ts'
import { dns, ip, makeRequest, subjectOf } from './testing/make-request.ts'

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests'
const settings = {
  approve: true,
  require: 'proven',
  networks: ['10.0.0.0/8'],
  exclude: [],
  domains: [],
} as const

const inForce = (): PolicyState => ({ state: 'in-force' })
const nodeNamed = (name: string) => ({ ...nodeFacts(), name, creationTimestamp: '2026-01-01T00:00:00Z' })
const uid = nodeFacts().uid
const statusWith = (address: string, changes: Partial<NodeReportStatus> = {}): NodeReportStatus => ({
  nodeUID: uid,
  identityLevel: 'proven',
  addresses: [{ type: 'InternalIP', address }],
  conditions: [{ type: 'VMFound', status: 'True', reason: 'VMFound', message: '', lastTransitionTime: '' }],
  ...changes,
})

const requestOf = (
  name: string,
  node: string,
  names = [dns(node), ip('10.0.0.5')],
  at = '2026-01-01T00:00:00Z',
) => ({
  metadata: { name, resourceVersion: '1', creationTimestamp: at },
  spec: {
    request: makeRequest({ subject: subjectOf(`system:node:${node}`), names }),
    signerName: 'kubernetes.io/kubelet-serving',
    username: `system:node:${node}`,
    groups: ['system:nodes', 'system:authenticated'],
    usages: ['digital signature', 'server auth'],
  },
  status: {},
})

interface Given {
  readonly requests: readonly object[]
  readonly nodes?: readonly string[]
  /** How the API server answers an approval; as it should by default. */
  readonly answer?: (request: KubeRequest) => void
  readonly mayList?: boolean
  /** For a loop that follows another one. */
  readonly clock?: ReturnType<typeof createHandClock>
  readonly approvals?: ReturnType<typeof createApprovalRates>
  readonly policy?: () => PolicyState
}

async function setUp(t: Test, { requests, nodes = ['worker-1'], answer, mayList = true, ...given }: Given) {
  const { clock = createHandClock(), approvals = createApprovalRates(), policy = inForce } = given
  const sent: KubeRequest[] = []
  const client = copyCluster({
    async request({ path }) {
      if (path === PATH && mayList) return { metadata: { resourceVersion: '1' }, items: requests }
      throw new ApiError(`no ${path}`, { status: 403, reason: 'Forbidden' })
    },
    stream: () => Promise.reject(new Error('nothing is streamed')),
    close: async () => undefined,
  })
  const known = new Map(nodes.map((name) => [name, nodeNamed(name)]))
  const judged: string[] = []
  const enqueued: string[] = []
  const loop = startCertificateLoop({
    config: { certificates: settings },
    client: observed(client, (request) => {
      sent.push(request)
      if (request.method === 'PATCH') answer?.(request)
    }),
    nodes: known,
    policy,
    approvals,
    enqueue: (node) => enqueued.push(node),
    metrics: { certificateJudged: (reason) => judged.push(reason) },
    clock,
    random: () => 0.5,
    logger: createLogLines().logger,
  })
  if (loop === undefined) throw new Error('the loop is off')
  const ending = new AbortController()
  const running = loop.run(ending.signal)
  t.teardown(async () => {
    ending.abort()
    await running
  })
  await clock.turn(10)
  const written = () => sent.flatMap(({ method, path, body }) => (method === 'PATCH' ? [{ path, body }] : []))
  const create = (body: object) =>
    client.request({ method: 'POST', path: PATH, body, signal: new AbortController().signal })
  return { loop, clock, known, judged, enqueued, written, sent, create }
}

t.test('where it is off there is no loop', async (t) => {
  const basics = { clock: createHandClock(), random: () => 0.5, logger: createLogLines().logger }
  const loop = startCertificateLoop({
    config: { certificates: { ...settings, approve: false } },
    client: copyCluster({
      request: () => Promise.reject(new Error('asked')),
      stream: () => Promise.reject(new Error('asked')),
      close: async () => undefined,
    }),
    nodes: new Map(),
    policy: inForce,
    approvals: createApprovalRates(),
    enqueue: () => undefined,
    metrics: { certificateJudged: () => undefined },
    ...basics,
  })
  t.equal(loop, undefined)
})

t.test('a request waits until its Node is decided on, and is approved once', async (t) => {
  const { loop, clock, written, enqueued, judged } = await setUp(t, {
    requests: [requestOf('csr-1', 'worker-1')],
  })
  t.same(written(), [])
  t.same(loop.conditions('worker-1'), {}, 'nothing is said yet')
  t.same(loop.problems(), [])
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(10)
  t.match(written(), [
    {
      path: `${PATH}/csr-1/approval`,
      body: {
        metadata: { resourceVersion: '1' },
        status: {
          conditions: [
            { type: 'Approved', status: 'True', reason: 'ApprovedByRollcall', message: /10\.0\.0\.5/ },
          ],
        },
      },
    },
  ])
  t.match(loop.conditions('worker-1'), {
    ServingCertificate: { status: 'True', reason: 'CertificateApproved' },
  })
  t.same(judged, ['CertificateApproved'])
  t.same(enqueued, ['worker-1'])
  loop.add('worker-1')
  await clock.turn(5_000)
  t.equal(written().length, 1)
  t.equal(loop.isIdle(), true)
})

t.test('of a Node that is not decided on for a minute it is said', async (t) => {
  const { loop, clock, enqueued } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1')] })
  await clock.turn(59_000)
  t.same([loop.conditions('worker-1'), enqueued], [{}, []])
  await clock.turn(2_000)
  t.match(loop.conditions('worker-1'), {
    ServingCertificate: { status: 'False', reason: 'NodeNotVerified', message: /not decided yet/ },
  })
  t.same(enqueued, ['worker-1'])
})

t.test('nothing is approved while Nodes are being initialized, for half a minute at most', async (t) => {
  const { loop, clock, written } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1')] })
  const initialize = async (ms: number) => {
    for (let i = 0; i < ms; i += 100) {
      loop.onInitializing()
      await clock.turn(100)
    }
  }
  await initialize(1_000)
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await initialize(28_000)
  t.same(written(), [])
  await initialize(2_000)
  t.equal(written().length, 1)
})

t.test('nor is anything said of one that is not right', async (t) => {
  const { loop, clock } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1', [dns('')])] })
  loop.onInitializing()
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(900)
  t.same(loop.conditions('worker-1'), {})
  await clock.turn(200)
  t.match(loop.conditions('worker-1'), { ServingCertificate: { status: 'False' } })
})

t.test('it is approved soon after the last Node', async (t) => {
  const { loop, clock, written } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1')] })
  loop.onInitializing()
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(900)
  t.same(written(), [])
  await clock.turn(200)
  t.equal(written().length, 1)
})

t.test('while reports may be forged nothing is approved or denied, and that is said', async (t) => {
  let policy: PolicyState = { state: 'pending' }
  const { loop, clock, written } = await setUp(t, {
    requests: [requestOf('csr-1', 'worker-1'), requestOf('csr-2', 'worker-2', [ip('10.0.0.5')])],
    nodes: ['worker-1', 'worker-2'],
    policy: () => policy,
  })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  loop.onDecided('worker-2', statusWith('10.0.0.6'))
  await clock.turn(1_000)
  t.same(loop.conditions('worker-1'), {}, 'nothing is said yet')
  policy = { state: 'not-in-force', message: 'reports may be forged: so' }
  for (const name of ['worker-1', 'worker-2']) loop.add(name)
  await clock.turn(1_000)
  t.match(loop.conditions('worker-1'), {
    ServingCertificate: {
      status: 'False',
      reason: 'PolicyNotInForce',
      message: 'csr-1: nothing new is verified of the Node: reports may be forged: so',
    },
  })
  t.same(written(), [])
  policy = { state: 'in-force' }
  for (const name of ['worker-1', 'worker-2']) loop.add(name)
  await clock.turn(1_000)
  t.match(written(), [
    { body: { status: { conditions: [{ type: 'Approved' }] } } },
    { body: { status: { conditions: [{ type: 'Denied' }] } } },
  ])
})

t.test('a policy of which nothing is known for a minute is said', async (t) => {
  const { loop, clock } = await setUp(t, {
    requests: [requestOf('csr-1', 'worker-1')],
    policy: () => ({ state: 'pending' }),
  })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(61_000)
  t.match(loop.conditions('worker-1'), {
    ServingCertificate: { status: 'False', reason: 'NodeNotVerified', message: /reports can be forged/ },
  })
})

t.test('what a decided Node lacks is said at once', async (t) => {
  const { loop, clock } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1')] })
  loop.onDecided('worker-1', statusWith('10.0.0.5', { identityLevel: 'reported' }))
  await clock.turn(10)
  t.match(loop.conditions('worker-1'), { ServingCertificate: { status: 'False', reason: 'NodeNotVerified' } })
})

t.test('the list is of one signer', async (t) => {
  const { sent } = await setUp(t, { requests: [] })
  t.match(sent[0], { path: PATH, query: { fieldSelector: 'spec.signerName=kubernetes.io/kubelet-serving' } })
})

t.test('what was decided for another leader, or of a former Node, does not count', async (t) => {
  const { loop, clock, written, known } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1')] })
  loop.onDecided('worker-1', statusWith('10.0.0.5', { nodeUID: '22222222-2222-2222-2222-222222222222' }))
  await clock.turn(1_000)
  t.same(written(), [])
  known.set('worker-1', { ...nodeNamed('worker-1'), uid: 'other' })
  t.same(loop.conditions('worker-1'), {}, 'nothing is said of the next Node of that name')
})

t.test('once a Node is no longer verified, nothing is approved', async (t) => {
  const { loop, clock, written } = await setUp(t, {
    requests: [requestOf('csr-1', 'worker-1', [ip('10.0.0.6')])],
  })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(1_000)
  loop.onDecided('worker-1', undefined)
  loop.onDecided('worker-2', statusWith('10.0.0.6'))
  await clock.turn(1_000)
  t.same(written(), [])
})

t.test('what belongs to another Node is denied, with a message', async (t) => {
  const { loop, clock, written } = await setUp(t, {
    requests: [
      requestOf('csr-1', 'worker-1', [ip('10.0.0.6')]),
      requestOf('csr-2', 'worker-3', [dns('worker-2')]),
    ],
    nodes: ['worker-1', 'worker-2', 'worker-3'],
  })
  loop.onDecided('worker-2', statusWith('10.0.0.6'))
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  loop.onDecided('worker-3', statusWith('10.0.0.7'))
  await clock.turn(10)
  const denied = {
    status: { conditions: [{ type: 'Denied', status: 'True', message: /belongs to the Node "worker-2"/ }] },
  }
  t.match(written(), [{ body: denied }, { body: denied }])
  t.equal(written().length, 2)
  t.match(loop.conditions('worker-1'), {
    ServingCertificate: { status: 'False', reason: 'CertificateDenied' },
  })
})

t.test('of several requests of a Node the newest counts', async (t) => {
  const { loop, clock, written } = await setUp(t, {
    requests: [
      requestOf('csr-1', 'worker-1'),
      requestOf('csr-3', 'worker-1', undefined, '2026-01-01T00:00:02Z'),
      requestOf('csr-2', 'worker-1', undefined, '2026-01-01T00:00:01Z'),
    ],
  })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(10)
  t.match(written()[0], { path: `${PATH}/csr-3/approval` })
})

t.test('one of the same second that is not right changes nothing of what was approved', async (t) => {
  const { loop, clock, written } = await setUp(t, {
    requests: [requestOf('csr-1', 'worker-1', [dns('')]), requestOf('csr-2', 'worker-1')],
  })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(1_000)
  loop.add('worker-1')
  await clock.turn(1_000)
  t.equal(written().length, 1)
  t.match(loop.conditions('worker-1'), { ServingCertificate: { status: 'True', message: /^csr-2: / } })
})

t.test('one of the same second that comes after a decision is told why it waits', async (t) => {
  const { loop, clock, written, create } = await setUp(t, { requests: [requestOf('csr-1', 'worker-1')] })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(1_000)
  await create(requestOf('csr-2', 'worker-1', [dns('')]))
  await clock.turn(1_000)
  t.equal(written().length, 1)
  t.match(loop.conditions('worker-1'), { ServingCertificate: { status: 'False', message: /^csr-2: / } })
})

t.test('a Node that asks again and again gets few certificates', async (t) => {
  const requests = Array.from({ length: 20 }, (_, i) => requestOf(`csr-${i}`, 'worker-1'))
  const { loop, clock, written } = await setUp(t, { requests })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  for (let i = 0; i < 30; i++) {
    loop.add('worker-1')
    await clock.turn(1_000)
  }
  t.equal(written().length, 6)
  t.match(loop.conditions('worker-1'), { ServingCertificate: { status: 'False', reason: 'TooManyRequests' } })
  await clock.turn(600_000)
  t.equal(written().length, 7, 'it is looked at again when it may')
})

t.test('a loop under another configuration counts on', async (t) => {
  const requests = Array.from({ length: 20 }, (_, i) => requestOf(`csr-${i}`, 'worker-1'))
  const shared = { clock: createHandClock(), approvals: createApprovalRates() }
  const counts: number[] = []
  for (let terms = 0; terms < 2; terms++) {
    const { loop, clock, written } = await setUp(t, { requests, ...shared })
    loop.onDecided('worker-1', statusWith('10.0.0.5'))
    for (let i = 0; i < 30; i++) {
      loop.add('worker-1')
      await clock.turn(1_000)
    }
    counts.push(written().length)
  }
  t.same(counts, [6, 0])
})

t.test('all together get no more than the rate', async (t) => {
  const count = 1_100
  const nodes = Array.from({ length: count }, (_, i) => `worker-${i}`)
  const requests = nodes.map((name) => requestOf(`csr-of-${name}`, name, [dns(name)]))
  const { loop, clock, written } = await setUp(t, { requests, nodes })
  for (const name of nodes) loop.onDecided(name, statusWith('10.0.0.5'))
  await clock.turn(0)
  await clock.turn(100)
  const soon = written().length
  t.ok(soon >= 1_000 && soon < 1_030, `${soon}`)
  await clock.turn(30_000)
  t.equal(new Set(written().map(({ path }) => path)).size, count, 'and each gets its own')
})

t.test('a write that is refused is said, and tried again later', async (t) => {
  let refuses = true
  const { loop, clock, written } = await setUp(t, {
    requests: [requestOf('csr-1', 'worker-1')],
    answer() {
      if (refuses) throw new ApiError('a policy says no', { status: 403, reason: 'Forbidden' })
    },
  })
  loop.onDecided('worker-1', statusWith('10.0.0.5'))
  await clock.turn(10)
  t.match(loop.conditions('worker-1'), {
    ServingCertificate: { status: 'False', reason: 'ApprovalRefused', message: 'csr-1: a policy says no' },
  })
  refuses = false
  await clock.turn(10_000)
  t.match(loop.conditions('worker-1'), { ServingCertificate: { status: 'True' } })
  t.equal(written().length, 2)
})

t.test('a request that changed or went meanwhile is left to the watch', async (t) => {
  for (const status of [404, 409]) {
    const { loop, clock, written } = await setUp(t, {
      requests: [requestOf('csr-1', 'worker-1')],
      answer() {
        throw new ApiError('not this one', { status, reason: 'Conflict' })
      },
    })
    loop.onDecided('worker-1', statusWith('10.0.0.5'))
    await clock.turn(60_000)
    t.equal(written().length, 1)
    t.same(loop.conditions('worker-1'), {})
  }
})

t.test('a request of a Node that is not there is left alone, and logged once', async (t) => {
  const { loop, clock, written, judged } = await setUp(t, { requests: [requestOf('csr-1', 'ghost')] })
  loop.add('ghost')
  await clock.turn(5_000)
  t.same(written(), [])
  t.same(loop.conditions('ghost'), {})
  t.equal(judged.length, 1)
})

t.test('without the right to list them, the leader says which part to apply, and is not busy', async (t) => {
  const { loop } = await setUp(t, { requests: [], mayList: false })
  t.match(loop.problems(), [/apply the component approve-certificates/])
  t.equal(loop.isIdle(), true)
})
