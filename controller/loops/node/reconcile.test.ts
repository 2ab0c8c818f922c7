import type { Test } from 'tap'
import t from 'tap'
import { ApiError } from '../../../agent/shared/api-error.ts'
import type { NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { BIOS_UUID, node, report, SETTINGS, spec, vm } from '../../../test/fixtures/facts.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { inventory, sourcesOf } from '../../../test/fixtures/sources.ts'
import type { WriteResult } from '../../kubernetes/node-writer.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import type { Writer } from './apply/apply.ts'
import { createLastingFailures } from './apply/lasting-failures.ts'
import { createNodeIndex } from './gather/node-index.ts'
import { createReconciler } from './reconcile.ts'
import { createProbeTracker } from './vm-probes/probe-tracker.ts'

/** One Node, its report and its VM; what is written comes back by the watch when the test says so. */
function setUp(t: Test) {
  const clock = createHandClock()
  const stored: { node: Node | undefined; report: NodeReport; vm: VirtualMachine } = {
    node: node({ labels: { 'topology.kubernetes.io/zone': 'mine' } }),
    report: report(),
    vm: vm(),
  }
  const calls: string[] = []
  const events: string[] = []
  const enqueued: string[] = []
  const shown: (NodeReportStatus | undefined)[] = []
  const answers: { status?: WriteResult<NodeReport> | Error; after?: Promise<void>; onPatch?: () => void } =
    {}
  let version = 1_000
  const lookups: { state: 'answered' | 'pending' } = { state: 'answered' }
  const index = createNodeIndex(SETTINGS.identity)
  index.node('worker-1', stored.node)
  index.report('worker-1', stored.report)
  const tracker = createProbeTracker(clock.monotonic)
  /** As the API server has it, which the watch does not show. */
  const server = { node: stored.node ?? node() }
  const resourceVersion = () => String(version++)
  function writeNode(changes: Partial<Node>): WriteResult<Node> {
    if (stored.node === undefined) return { outcome: 'gone' }
    server.node = { ...server.node, ...changes, resourceVersion: resourceVersion() }
    return { outcome: 'written', object: server.node }
  }
  const writer: Writer = {
    async patchNodeStatus(_, __, changes) {
      calls.push('node/status')
      return writeNode(changes)
    },
    async patchNode(_, __, { labels = {}, taints, providerID }) {
      calls.push('node')
      answers.onPatch?.()
      const kept = Object.entries({ ...server.node.labels, ...labels }).filter(([, value]) => value !== null)
      return writeNode({
        labels: Object.fromEntries(kept) as Record<string, string>,
        ...(taints === undefined ? {} : { taints }),
        ...(providerID === undefined ? {} : { providerID }),
      })
    },
    async patchReportStatus(_, seen, status) {
      calls.push(`report/status ${seen.resourceVersion}`)
      if (answers.status instanceof Error) throw answers.status
      const object = { ...stored.report, status, resourceVersion: resourceVersion() }
      if (answers.after !== undefined) {
        stored.report = object
        await answers.after
      }
      return answers.status ?? { outcome: 'written', object }
    },
    createReport: () => Promise.reject(new Error('there is one')),
    deleteNode: () => Promise.reject(new Error('nobody wants that')),
    confirm: async () => true,
    recordEvent: (_, { reason }) => events.push(reason),
  }
  const lastingFailures = createLastingFailures(clock)
  const { reconcile, isNews, run } = createReconciler({
    sources: sourcesOf({
      node: () => stored.node,
      report: () => stored.report,
      index,
      inventories: [
        inventory({
          lookup: () =>
            lookups.state === 'pending' ? { state: 'pending' } : { state: 'answered', vms: [stored.vm] },
        }),
      ],
      tracker,
    }),
    tracker,
    enqueueProbe: () => undefined,
    enqueue: (name) => enqueued.push(name),
    writer: { ...writer, ...lastingFailures.watch(writer) },
    lastingFailures,
    statusWriter: () => writer,
    clock,
    onDecision: () => undefined,
    onDeleted: () => undefined,
    onRejected: () => undefined,
    onStatus: (_, current) => shown.push(current?.status),
    onStatusError: () => undefined,
  })
  const ending = new AbortController()
  const running = run(ending.signal)
  t.teardown(() => {
    ending.abort()
    return running
  })
  const take = () => ({ calls: calls.splice(0), events: events.splice(0), enqueued: enqueued.splice(0) })
  return {
    clock,
    stored,
    server,
    answers,
    shown,
    lookups,
    reconcile: () => reconcile('worker-1'),
    isNews: () => isNews('worker-1'),
    take,
  }
}

t.test('a Node loses its taint first; its status follows, and the Events with it', async (t) => {
  const { clock, shown, reconcile, take } = setUp(t)
  t.equal(await reconcile(), 'done')
  t.same(take(), { calls: ['node/status', 'node'], events: [], enqueued: [] })
  t.match(shown, [{ vm: { biosUUID: BIOS_UUID } }], 'it counts already')
  await reconcile()
  t.same(take().calls, [], 'as if it stood')
  await clock.turn(100)
  t.same(take(), {
    calls: ['report/status 200'],
    events: ['Initialized', 'Synced', 'LabelOverridden'],
    enqueued: [],
  })
  await reconcile()
  await clock.turn(100)
  t.same(take(), { calls: [], events: [], enqueued: [] })
})

t.test('while a status is put off, our own writes are no news', async (t) => {
  const { clock, stored, server, answers, reconcile, isNews } = setUp(t)
  t.ok(isNews(), 'nothing was decided yet')
  await reconcile()
  t.notOk(isNews(), 'the watch shows nothing new')
  stored.node = server.node
  t.notOk(isNews(), 'the watch shows our own write')
  stored.node = { ...server.node, resourceVersion: '2000' }
  t.ok(isNews(), 'somebody else has written')
  stored.node = server.node
  stored.report = report({ resourceVersion: '201' })
  t.ok(isNews(), 'the agent has written')
  await reconcile()
  t.notOk(isNews())
  answers.after = Promise.resolve()
  await clock.turn(100)
  t.ok(isNews(), 'all of it is written')
  await reconcile()
  t.ok(isNews(), 'no status is put off')
})

t.test('what others wrote while a Node was decided on and written is news', async (t) => {
  const { stored, server, answers, reconcile, isNews } = setUp(t)
  answers.onPatch = () => {
    stored.report = report({ resourceVersion: '201' })
  }
  await reconcile()
  t.ok(isNews(), 'the agent has written')
  await reconcile()
  t.notOk(isNews())
  stored.node = { ...server.node, resourceVersion: '2000', ready: undefined }
  await reconcile()
  t.notOk(isNews(), 'the kubelet had written before')
})

t.test('what changes meanwhile goes into the same write', async (t) => {
  const { clock, stored, reconcile, take } = setUp(t)
  await reconcile()
  stored.vm = vm({ host: 'esx-2' })
  await reconcile()
  await clock.turn(100)
  t.same(take(), {
    calls: ['node/status', 'node', 'report/status 200'],
    events: ['Initialized', 'Synced', 'LabelOverridden'],
    enqueued: [],
  })
})

t.test('a report that is another by now is decided on again', async (t) => {
  const { clock, stored, reconcile, take } = setUp(t)
  await reconcile()
  stored.report = report({
    resourceVersion: '201',
    spec: { ok: true, value: spec({ agentVersion: '0.2.0' }) },
  })
  await reconcile()
  await clock.turn(100)
  const { calls, events } = take()
  t.same(calls, ['node/status', 'node', 'report/status 201'])
  t.same(events.sort(), ['Initialized', 'LabelOverridden', 'Synced'])
})

t.test('a report that comes while the Node is written is not taken for the one before', async (t) => {
  const { clock, stored, answers, shown, reconcile, take } = setUp(t)
  answers.onPatch = () => {
    stored.report = report({
      resourceVersion: '201',
      spec: { ok: true, value: spec({ agentVersion: '0.2.0' }) },
    })
  }
  await reconcile()
  t.match(shown.at(-1), { vm: { biosUUID: BIOS_UUID } }, 'which VM the Node is, counts beside the new one')
  delete answers.onPatch
  await reconcile()
  await clock.turn(100)
  t.match(take().calls, ['node/status', 'node', 'report/status 201'])
})

t.test(
  'where it cannot be written, the Node is reconciled again and the status written at once',
  async (t) => {
    for (const answer of [
      { outcome: 'conflict' } as const,
      { outcome: 'rejected', message: 'no' } as const,
      new Error('the API server is away'),
    ]) {
      const { clock, answers, shown, reconcile, take } = setUp(t)
      answers.status = answer
      await reconcile()
      await clock.turn(100)
      t.same(take(), {
        calls: ['node/status', 'node', 'report/status 200'],
        events: [],
        enqueued: ['worker-1'],
      })
      t.match(shown.at(-1), { vm: { biosUUID: BIOS_UUID } }, 'what was decided still counts')
      delete answers.status
      await reconcile()
      t.same(take(), {
        calls: ['report/status 200'],
        events: ['Initialized', 'Synced', 'LabelOverridden'],
        enqueued: [],
      })
    }
  },
)

t.test('a level that is not on record yet survives the report of the next boot', async (t) => {
  for (const written of [false, true]) {
    const { clock, stored, answers, shown, reconcile, take } = setUp(t)
    await reconcile()
    t.match(shown.at(-1), { identityLevel: 'proven' })
    const next = report({
      resourceVersion: '201',
      spec: {
        ok: true,
        value: spec({
          bootID: '99999999-2222-4333-8444-555555555555',
          claim: { written: false, reason: 'ToolMissing', message: 'no tool' },
        }),
      },
    })
    if (written) {
      // The API server has the next report already, which the watch does not show yet.
      answers.status = { outcome: 'conflict' }
      await clock.turn(100)
      await reconcile()
      delete answers.status
    }
    stored.report = next
    await reconcile()
    await clock.turn(100)
    t.match(shown.at(-1), { identityLevel: 'proven' })
    t.equal(take().calls.at(-1), 'report/status 201')
  }
})

t.test('a status that failed is written again, even if vCenter reports nothing meanwhile', async (t) => {
  const { clock, answers, reconcile, take, lookups } = setUp(t)
  answers.status = new Error('the API server is away')
  await reconcile()
  await clock.turn(100)
  take()
  delete answers.status
  lookups.state = 'pending'
  await reconcile()
  t.match(take(), { calls: ['report/status 200'], events: { length: 3 } })
  await reconcile()
  t.same(take(), { calls: [], events: [], enqueued: [] }, 'and told once')
})

t.test('a status that another has written takes the place of one that is not on record', async (t) => {
  const { clock, stored, shown, reconcile, take } = setUp(t)
  await reconcile()
  stored.report = report({ resourceVersion: '201', status: { instanceType: 'of another' } })
  await reconcile()
  t.same(shown.at(1), { instanceType: 'of another' })
  await clock.turn(100)
  t.same(take().calls, ['node/status', 'node', 'report/status 201'])
})

t.test('a write that the watch shows before it is answered is told once', async (t) => {
  const { clock, answers, reconcile, take } = setUp(t)
  const { promise, resolve } = Promise.withResolvers<void>()
  answers.after = promise
  await reconcile()
  await clock.turn(100)
  const second = reconcile()
  await clock.turn(100)
  t.same(take().events, [])
  resolve()
  await second
  t.same(take(), { calls: [], events: ['Initialized', 'Synced', 'LabelOverridden'], enqueued: [] })
})

t.test('a Node that went, or that was registered anew, has no status pending', async (t) => {
  const { clock, stored, reconcile, take } = setUp(t)
  await reconcile()
  stored.node = undefined
  await reconcile()
  await clock.turn(100)
  t.same(take().calls, ['node/status', 'node'])

  const again = setUp(t)
  await again.reconcile()
  again.stored.node = node({ uid: '22222222-2222-4333-8444-555555555555' })
  await again.reconcile()
  t.same(again.shown.at(1), {})
})

t.test(
  'a write that fails now and again does not fail for good where none was needed in between',
  async (t) => {
    const { clock, stored, answers, reconcile, take } = setUp(t)
    await reconcile()
    await clock.turn(100)
    await reconcile()
    const before = stored.vm
    const down = new ApiError('etcd has no leader', { status: 500, reason: 'InternalError' })
    answers.status = down
    stored.vm = vm({ host: 'esx-2' })
    await t.rejects(reconcile(), down)
    stored.vm = before
    t.not(await reconcile(), 'requeue')
    await clock.turn(30_000)
    stored.vm = vm({ host: 'esx-3' })
    await t.rejects(reconcile(), down, 'the first of its kind')
    await clock.turn(20_000)
    take()
    t.equal(await reconcile(), 'requeue')
    t.same(take().events, ['StatusRefused'], 'and now it lasts')
  },
)
