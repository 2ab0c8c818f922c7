import t from 'tap'
import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import { facts, node, report, SETTINGS } from '../../../../test/fixtures/facts.ts'
import type { ObjectVersion, WriteResult } from '../../../kubernetes/node-writer.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { decide } from '../decide/decide.ts'
import type { Decision } from '../decide/decision.ts'
import type { NodeEvent } from '../decide/node-events.ts'
import { applyAndTell } from '../reconcile.ts'
import type { ApplyOptions, Writer } from './apply.ts'

/** Keeps the order of what was written and answers as told, as the API server would by default. */
function recorder(
  answers: {
    status?: WriteResult<Node>
    node?: WriteResult<Node>
    report?: WriteResult<NodeReport>
    created?: WriteResult<NodeReport>
    deleted?: WriteResult<{ readonly gone: boolean }>
    /** One answer for each time that leadership is to be confirmed; yes where there is none. */
    confirmed?: boolean[]
  } = {},
) {
  const calls: string[] = []
  const guards: ObjectVersion[] = []
  const said: NodeEvent[] = []
  let lastStatus: NodeReportStatus | undefined
  const writer: Writer = {
    async patchNodeStatus(_, guard) {
      calls.push('node/status')
      guards.push(guard)
      return answers.status ?? { outcome: 'written', object: node({ resourceVersion: '101' }) }
    },
    async patchNode(_, guard) {
      calls.push('node')
      guards.push(guard)
      return answers.node ?? { outcome: 'written', object: node({ resourceVersion: '102', taints: [] }) }
    },
    async createReport() {
      calls.push('report')
      return answers.created ?? { outcome: 'written', object: report() }
    },
    async patchReportStatus(_, guard, status) {
      calls.push('report/status')
      guards.push(guard)
      lastStatus = status
      return answers.report ?? { outcome: 'written', object: report({ resourceVersion: '201', status }) }
    },
    async deleteNode(_, guard) {
      calls.push('delete')
      guards.push(guard)
      return answers.deleted ?? { outcome: 'written', object: { gone: true } }
    },
    async confirm() {
      calls.push('confirm')
      return answers.confirmed?.shift() ?? true
    },
    recordEvent: (_, event) => said.push(event),
  }
  return { writer, calls, guards, said, lastStatus: () => lastStatus }
}

const context = { node: node(), report: report() }

const apply = (target: ApplyOptions, decision: Decision, writer: Writer) =>
  applyAndTell(target, decision, { writer, now: facts().now })

t.test('addresses before the taint, each write guarded by the one before', async (t) => {
  const { writer, calls, guards, said } = recorder()
  const applied = await apply(context, decide(facts()), writer)
  t.same(calls, ['node/status', 'node', 'report/status'])
  t.same(
    guards.map(({ resourceVersion }) => resourceVersion),
    ['100', '101', '200'],
  )
  t.match(applied, { nodes: { length: 2 }, reports: { length: 1 }, incomplete: false })
  t.match(said, [{ reason: 'Initialized' }])
})

t.test('a conflict stops at once and says nothing', async (t) => {
  for (const answers of [
    { status: { outcome: 'conflict' } as const },
    { node: { outcome: 'conflict' } as const },
    { report: { outcome: 'conflict' } as const },
  ]) {
    const { writer, said } = recorder(answers)
    const applied = await apply(context, decide(facts()), writer)
    t.equal(applied.incomplete, true)
    t.same(said, [])
  }
})

t.test('a Node that is gone needs nothing', async (t) => {
  const { writer, calls } = recorder({ status: { outcome: 'gone' } })
  t.match(await apply(context, decide(facts()), writer), { incomplete: false })
  t.same(calls, ['node/status'])
})

t.test('a patch that the API server refuses becomes a condition and an Event', async (t) => {
  const { writer, said, lastStatus } = recorder({ node: { outcome: 'rejected', message: 'webhook says no' } })
  const applied = await apply(context, decide(facts()), writer)
  t.equal(applied.incomplete, true)
  const initialized = lastStatus()?.conditions?.find(({ type }) => type === 'Initialized')
  t.match(initialized, { status: 'False', reason: 'NodePatchRefused', message: /webhook says no/ })
  t.match(said, [{ type: 'Warning', reason: 'NodePatchRefused' }])
  t.match(applied.refusal, {
    condition: 'Initialized',
    reason: 'NodePatchRefused',
    message: /webhook says no/,
  })

  const again = recorder({ node: { outcome: 'rejected', message: 'webhook says no' } })
  const told = report({ status: lastStatus() ?? {} })
  await apply({ ...context, report: told }, decide(facts({ report: told })), again.writer)
  t.same(again.said, [], 'said once')
})

t.test(
  'if the status that reports a refusal is refused as well, the second refusal is reported',
  async (t) => {
    const { writer, calls, said } = recorder({
      node: { outcome: 'rejected', message: 'webhook says no' },
      report: { outcome: 'rejected', message: 'status.vm.name: too long' },
    })
    const applied = await apply(context, decide(facts()), writer)
    t.same(calls, ['node/status', 'node', 'report/status'])
    t.match(applied, { incomplete: true, refusal: { reason: 'StatusRefused', message: /too long/ } })
    t.match(said, [{ type: 'Warning', reason: 'StatusRefused' }])
  },
)

t.test('nothing is written where nothing differs', async (t) => {
  const { status } = decide(facts())
  const settled = report({ status: status ?? {} })
  const decision = decide(facts({ report: settled }))
  const { writer, calls } = recorder()
  const { patch: _, ...unpatched } = decision
  await apply({ ...context, report: settled }, unpatched, writer)
  t.same(calls, [])
})

t.test(
  'a status that the API server refuses is told by an Event, there being no condition to tell it in',
  async (t) => {
    const { writer, said } = recorder({
      report: { outcome: 'rejected', message: 'status.vm.name: too long' },
    })
    const applied = await apply(context, decide(facts()), writer)
    t.match(applied, { incomplete: true, refusal: { reason: 'StatusRefused', message: /too long/ } })
    t.match(said, [{ type: 'Warning', reason: 'StatusRefused', message: /CRD/ }])
  },
)

t.test('a report that has to be made comes alone', async (t) => {
  const decision = decide(
    facts({
      report: undefined,
      lookups: [],
      settings: {
        ...SETTINGS,
        identity: { require: 'asserted', exempt: undefined, requireAllVCenters: true },
      },
    }),
  )
  const without = { ...context, report: undefined }
  const { writer, calls, said } = recorder()
  t.match(await apply(without, decision, writer), { nodes: [], reports: [], incomplete: false })
  t.same(calls, ['report'])
  t.same(said, [])

  const late = recorder({ created: { outcome: 'conflict' } })
  t.match(await apply(without, decision, late.writer), { incomplete: false }, 'an agent was faster')

  const rejected = recorder({ created: { outcome: 'rejected', message: 'no' } })
  const applied = await apply(without, decision, rejected.writer)
  t.match(applied, { incomplete: true, refusal: { reason: 'ReportRefused', message: /no; apply/ } })
  t.match(rejected.said, [{ type: 'Warning', reason: 'ReportRefused' }])
})

t.test(
  'a status is put off with its Events where it may be, and nothing is that a deletion rests on',
  async (t) => {
    const decision = decide(facts())
    const { writer, calls, said } = recorder()
    const applied = await apply({ ...context, defer: true }, decision, writer)
    t.same(calls, ['node/status', 'node'])
    t.same(said, [])
    t.match(applied, { deferred: { status: decision.status, events: decision.events }, incomplete: false })

    const confirmed = recorder()
    await apply({ ...context, defer: true }, { ...decision, confirmLease: true }, confirmed.writer)
    t.same(confirmed.calls, ['confirm', 'node/status', 'node', 'report/status'])

    const rejected = recorder({ node: { outcome: 'rejected', message: 'webhook says no' } })
    await apply({ ...context, defer: true }, decision, rejected.writer)
    t.same(rejected.calls, ['node/status', 'node', 'report/status'])
  },
)

t.test('a deletion comes last, and from a leader that is sure', async (t) => {
  const status: NodeReportStatus = { conditions: [] }
  const decision: Decision = {
    state: 'refused',
    status,
    events: [{ type: 'Warning', reason: 'VMGone', message: 'it is gone' }],
    requeue: false,
    confirmLease: true,
    deletion: {
      vCenter: 'vc1',
      group: 'uuid',
      vanished: undefined,
      event: { type: 'Normal', reason: 'NodeDeleted', message: 'it is gone' },
      cpiEvent: { type: 'Normal', reason: 'DeletingNode', message: 'gone' },
    },
  }
  const run = async (answers: Parameters<typeof recorder>[0]) => {
    const { writer, calls, guards, said } = recorder(answers)
    const applied = await apply({ node: node(), report: report() }, decision, writer)
    return { applied, calls, guard: guards.at(-1), said: said.map(({ reason }) => reason) }
  }

  const done = await run({})
  t.strictSame(done.calls, ['confirm', 'report/status', 'confirm', 'delete'])
  t.match(done.applied, { deleted: true, incomplete: false })
  t.match(done.guard, { uid: node().uid, resourceVersion: node().resourceVersion })
  t.strictSame(done.said, ['VMGone', 'NodeDeleted', 'DeletingNode'])

  const faster = await run({ deleted: { outcome: 'gone' } })
  t.match(faster.applied, { incomplete: false, deleted: undefined }, 'somebody else has deleted it')
  t.strictSame(faster.said, ['VMGone'])

  const rows: [string, Parameters<typeof recorder>[0], string[], string[]][] = [
    ['not sure at first', { confirmed: [false] }, ['confirm'], []],
    [
      'not sure after writing',
      { confirmed: [true, false] },
      ['confirm', 'report/status', 'confirm'],
      ['VMGone'],
    ],
    [
      'the reason could not be put on record',
      { report: { outcome: 'conflict' } },
      ['confirm', 'report/status'],
      [],
    ],
    [
      'the Node has changed',
      { deleted: { outcome: 'conflict' } },
      ['confirm', 'report/status', 'confirm', 'delete'],
      ['VMGone'],
    ],
    [
      'it is refused',
      { deleted: { outcome: 'rejected', message: 'nodes "worker-1" is forbidden' } },
      ['confirm', 'report/status', 'confirm', 'delete'],
      ['VMGone'],
    ],
  ]
  for (const [name, answers, calls, said] of rows) {
    const seen = await run(answers)
    t.strictSame(seen.calls, calls, name)
    t.strictSame(seen.said, said, name)
    t.match(seen.applied, { incomplete: true, deleted: undefined }, name)
  }
})
