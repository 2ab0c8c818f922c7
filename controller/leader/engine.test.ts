import type { Test } from 'tap'
import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { swapUUID } from '../../agent/shared/uuid.ts'
import { BIOS_UUID, node, report, spec, vm } from '../../test/fixtures/facts.ts'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { inventory } from '../../test/fixtures/sources.ts'
import { file, load } from '../config/testing/load.ts'
import { copyCluster } from '../inspect/plan/copied-cluster.ts'
import type { KubeClient, KubeRequest } from '../kubernetes/client.ts'
import { observed } from '../kubernetes/testing/cluster-client.ts'
import { createLogLines } from '../kubernetes/testing/log-lines.ts'
import { aborted } from '../lib/tasks.ts'
import { createApprovalRates } from '../loops/certificates/loop.ts'
import { createProbeTracker } from '../loops/node/vm-probes/probe-tracker.ts'
import { LOOPS } from '../loops/table.ts'
import { approvalLoop, REQUESTS } from '../loops/testing/approve-certificates.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import type { InterlockState } from '../types/cluster-state.ts'
import type { VCenterFailure } from '../types/inventory.ts'
import { createEngine } from './engine.ts'

const own = node()
const request = (name: string, address: string) => ({
  metadata: { name, resourceVersion: '1' },
  spec: { username: `system:node:${own.name}`, addresses: [address] },
})
const { reportedAt: _, spec: __, status, ...metadata } = report()
const OBJECTS: Readonly<Record<string, readonly object[]>> = {
  '/api/v1/nodes': [
    {
      metadata: {
        name: own.name,
        uid: own.uid,
        resourceVersion: own.resourceVersion,
        creationTimestamp: own.creationTimestamp,
      },
      spec: { taints: own.taints },
      status: {
        addresses: own.addresses,
        nodeInfo: { systemUUID: own.systemUUID },
        conditions: [{ type: 'Ready', ...own.ready }],
      },
    },
  ],
  '/apis/rollcall.dev/v1alpha1/nodereports': [{ metadata, spec: spec(), status }],
  '/apis/storage.k8s.io/v1/csinodes': [],
  [REQUESTS]: [request('right', '10.0.0.5'), request('wrong', '10.0.0.6')],
}

const nodeOf = (name: string, uid: string) => ({
  metadata: { name, uid, resourceVersion: '1', creationTimestamp: own.creationTimestamp },
})
const other = (_: unknown, i: number) => nodeOf(`other-${i}`, `uid-${i}`)
/** A Node with a report of a machine of its own. */
const LATE = { name: 'late', uid: '420e0000-0000-4000-8000-000000000001' }
const lateReport = () => {
  const serialUUID = '420e0000-0000-4000-8000-000000000002'
  const machine = { ...spec().machine, serialUUID, productUUID: swapUUID(serialUUID) }
  return { metadata: { ...metadata, name: LATE.name }, spec: spec({ nodeUID: LATE.uid, machine }) }
}

interface Stage {
  readonly initializes?: boolean
  /** Whether the vCenter has answered for this BIOS UUID. */
  readonly answers?: (uuid: string) => boolean
  /** How many Nodes there are besides that point to no VM. */
  readonly others?: number
  /** Whether {@link LATE} is there besides. */
  readonly late?: boolean
  /** Which requests the API server refuses. */
  readonly refuses?: (request: KubeRequest) => boolean
  readonly interlock?: InterlockState
  /** Why the vCenter cannot be asked. */
  readonly failure?: VCenterFailure
}

/** A new Node with its report and its VM, in a cluster where kubelets ask for certificates. */
async function setUp(
  t: Test,
  {
    initializes = true,
    answers = () => true,
    others = 0,
    late = false,
    refuses = () => false,
    interlock = { state: 'open' },
    failure,
  }: Stage = {},
) {
  const clock = createHandClock()
  const sent: KubeRequest[] = []
  const decided = new Set<string>()
  const copy = copyCluster({
    async request({ path }) {
      const besides: Readonly<Record<string, readonly object[]>> = {
        '/api/v1/nodes': [
          ...Array.from({ length: others }, other),
          ...(late ? [nodeOf(LATE.name, LATE.uid)] : []),
        ],
        '/apis/rollcall.dev/v1alpha1/nodereports': late ? [lateReport()] : [],
      }
      const items = OBJECTS[path]?.concat(besides[path] ?? [])
      if (items === undefined) throw new ApiError(`no ${path}`, { status: 404, reason: 'NotFound' })
      return { metadata: { resourceVersion: '1' }, items }
    },
    stream: () => Promise.reject(new Error('nothing is streamed')),
    close: async () => undefined,
  })
  const client: KubeClient = {
    ...copy,
    request: (asked) =>
      refuses(asked)
        ? Promise.reject(new ApiError('denied by a webhook', { status: 403, reason: 'Forbidden' }))
        : copy.request(asked),
  }
  const given = { initializes, endsNodes: true, nodeLabels: {} }
  const { config } = await load(file(), {}, {}, given)
  const metrics = createMetrics({ version: '0', lease: 'rollcall', clock })
  const ending = new AbortController()
  let answer: () => void = () => undefined
  const engine = createEngine(
    {
      config,
      client: observed(client, (request) => sent.push(request)),
      openInventory: ({ name }, onChange) => {
        answer = () => onChange([BIOS_UUID])
        return {
          ...inventory({
            vCenter: name,
            lookup: (uuid) =>
              answers(uuid)
                ? { state: 'answered', vms: uuid === BIOS_UUID ? [vm()] : [] }
                : { state: 'pending' },
            instanceUUID: () => vm().vCenter.instanceUUID,
          }),
          provableEverywhere: () => undefined,
          connected: () => failure === undefined,
          ...(failure === undefined ? {} : { failure: () => failure }),
          datacenters: () => undefined,
          lackingCategories: () => new Map(),
          unsteady: () => undefined,
          certificateExpiry: () => undefined,
          passwordChanged: () => undefined,
          run: aborted,
        }
      },
      policy: () => ({ state: () => ({ state: 'in-force' }), run: aborted }),
      interlock: () => ({
        state: () => interlock,
        remarks: () => [],
        known: Promise.resolve(),
        run: aborted,
      }),
      tracker: createProbeTracker(clock.monotonic),
      approvals: createApprovalRates(),
      term: { confirm: async () => true, leadingFor: () => 0 },
      events: { event: () => undefined },
      onSynced: () => undefined,
      writing: ending.signal,
      clock,
      random: () => 0.5,
      logger: createLogLines().logger,
      metrics: {
        ...metrics,
        decided(name, ...others) {
          decided.add(name)
          metrics.decided(name, ...others)
        },
      },
    },
    [...LOOPS, approvalLoop],
  )
  const running = engine.run(ending.signal)
  t.teardown(async () => {
    ending.abort()
    await running
  })
  const writes = () => sent.filter(({ method }) => method !== 'GET').map(({ path }) => path)
  return { engine, clock, writes, decided, answer: () => answer() }
}

t.test('a second loop runs by its row: what the first decides, it acts upon', async (t) => {
  const { engine, clock, writes } = await setUp(t)
  t.ok(engine.problems().includes('certificate requests are not listed yet'))
  await clock.turn(10)
  t.equal(engine.isIdle(), true, 'the status of the Node waits')
  t.notOk(writes().some((path) => path.includes('approval')))
  await clock.turn(1_000)
  t.same(writes(), [
    `/api/v1/nodes/${own.name}/status`,
    `/api/v1/nodes/${own.name}`,
    `/apis/rollcall.dev/v1alpha1/nodereports/${own.name}/status`,
    `${REQUESTS}/right/approval`,
  ])
  t.same(engine.problems(), [])
  t.equal(engine.isIdle(), true)
})

t.test('nothing is decided at the start before the vCenter has answered for what is known', async (t) => {
  let isAnswered = false
  const { engine, clock, writes, decided, answer } = await setUp(t, { answers: () => isAnswered })
  await clock.turn(1_900)
  answer()
  await clock.turn(10)
  t.same([...decided], [])
  t.same(writes(), [])
  t.equal(engine.isIdle(), false)
  isAnswered = true
  answer()
  await clock.turn(10)
  t.ok(writes().includes(`/api/v1/nodes/${own.name}`))
})

t.test('a Node does not wait for what the vCenter has yet to answer for others', async (t) => {
  const { engine, clock, writes, decided } = await setUp(t, {
    answers: (uuid) => uuid === BIOS_UUID,
    late: true,
  })
  await clock.turn(100)
  t.ok(writes().includes(`/api/v1/nodes/${own.name}`))
  t.notOk(decided.has(LATE.name))
  t.equal(engine.isIdle(), false)
  await clock.turn(2_000)
  t.ok(decided.has(LATE.name), 'it is judged by what is known after a while')
})

t.test('a vCenter that does not answer holds up the start of the loops for two seconds', async (t) => {
  const { clock, decided } = await setUp(t, { answers: () => false })
  await clock.turn(1_900)
  t.same([...decided], [])
  await clock.turn(200)
  t.ok(decided.has(own.name))
})

t.test('the more Nodes there are, the longer the answers may take', async (t) => {
  const { clock, decided } = await setUp(t, { answers: () => false, others: 2_500 })
  await clock.turn(4_900)
  t.notOk(decided.has(own.name))
  await clock.turn(200)
  t.ok(decided.has(own.name))
})

t.test('a loop that the configuration turns off is not there', async (t) => {
  const { engine, clock, writes } = await setUp(t, { initializes: false })
  t.notOk(engine.problems().includes('certificate requests are not listed yet'))
  await clock.turn(1_000)
  t.notOk(writes().some((path) => path.startsWith(REQUESTS)))
})

t.test('what no report can say where its status is refused is a trouble of the leader', async (t) => {
  let isRefused = true
  const { engine, clock } = await setUp(t, {
    refuses: ({ method, path }) =>
      isRefused && method === 'PATCH' && path.endsWith(`/nodereports/${own.name}/status`),
  })
  const said = () => engine.troubles().filter(({ key }) => key === 'unwritten reports')
  await clock.turn(2_000)
  t.match(said(), [
    {
      text: /^the API server rejects writes for some Nodes, .*; see the log$/,
      message: new RegExp(`out of date or empty: 1 \\(${own.name}\\): .*denied by a webhook`),
    },
  ])
  t.same(engine.problems(), [], 'Nodes are initialized all the same')
  isRefused = false
  await clock.turn(600_000)
  t.same(said(), [])
})

t.test('what stops a leader is one of its troubles, with what it does not follow meanwhile', async (t) => {
  const held = await setUp(t, { interlock: { state: 'held', message: 'stop the CPI' } })
  await held.clock.turn(1_000)
  t.match(held.engine.troubles(), [{ key: 'interlock', message: 'stop the CPI', stops: 'all' }])
  for (const reason of ['CertificateNotTrusted', 'InvalidLogin', 'Unavailable'] as const) {
    const failure = { vCenter: 'vc1', reason, message: 'as ann@vsphere.local at 10.0.0.1' }
    const { engine } = await setUp(t, { failure })
    const [trouble] = engine.troubles().filter(({ stops }) => stops !== undefined)
    t.match(trouble, {
      message: `: ${reason}: as ann@vsphere.local at 10.0.0.1`,
      stops: { vCenter: /./ },
    })
    t.notMatch(trouble?.text, /ann|10\.0/, '/readyz names neither users nor addresses')
  }
})
