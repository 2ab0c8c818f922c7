import t from 'tap'
import { node, report } from '../../../../test/fixtures/facts.ts'
import { createHandClock } from '../../../../test/fixtures/hand-clock.ts'
import type { NodeWriter, WriteResult } from '../../../kubernetes/node-writer.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { createSlowLane, SLOW_AFTER } from './slow-lane.ts'

const UNANSWERED = { outcome: 'unanswered', message: 'no answer within 5 s' } as const

/** One Node, whose writes take as long as the test says and are answered as it says. */
function setUp(change: Partial<Node> = {}) {
  const clock = createHandClock()
  const stored: { node: Node | undefined; report: NodeReport } = { node: node(change), report: report() }
  const answers = { ms: 0, node: 'written', report: 'written' }
  const calls: string[] = []
  function writer(patience: string): NodeWriter {
    async function answer<T>(outcome: string, object: T): Promise<WriteResult<T>> {
      calls.push(patience)
      await clock.sleep(answers.ms, new AbortController().signal)
      if (outcome === 'written') return { outcome, object }
      return outcome === 'conflict' ? { outcome } : UNANSWERED
    }
    return {
      patchNodeStatus: () => answer(answers.node, node()),
      patchNode: () => answer(answers.node, node()),
      deleteNode: () => answer(answers.node, { gone: true }),
      createReport: () => answer(answers.report, report()),
      patchReportStatus: () => answer(answers.report, report()),
    }
  }
  const lane = createSlowLane({
    nodes: { get: () => stored.node, values: () => (stored.node === undefined ? [] : [stored.node]) },
    reports: { get: () => stored.report },
    brief: writer('brief'),
    patient: writer('patient'),
    clock,
  })
  const own = stored.node ?? node()
  /** One reconcile that makes these writes, one after the other. */
  async function reconcile(...writes: readonly (keyof NodeWriter)[]): Promise<void> {
    const writer = lane.writer(own)
    for (const write of writes) {
      const done =
        write === 'patchReportStatus'
          ? writer.patchReportStatus(own.name, own, {})
          : write === 'patchNodeStatus'
            ? writer.patchNodeStatus(own.name, own, { addresses: [] })
            : writer.patchNode(own.name, own, {})
      await clock.turn(answers.ms)
      await done
    }
  }
  return { clock, lane, stored, answers, calls, reconcile, has: () => lane.has(own.name) }
}

t.test('in with a write that is not answered in time, out with one that is quick', async (t) => {
  const { lane, answers, calls, reconcile, has } = setUp()
  t.notOk(has())
  answers.node = 'unanswered'
  await reconcile('patchNode')
  t.ok(has())
  t.same(lane.count(), { slow: 1, huge: 0 })
  await reconcile('patchNode')
  t.same(calls, ['brief', 'patient'], 'it gets more time where it holds up nobody')
  answers.node = 'written'
  answers.ms = SLOW_AFTER
  await reconcile('patchNode')
  t.ok(has(), 'a slow answer is no quick one')
  answers.ms = SLOW_AFTER - 1
  answers.node = 'conflict'
  await reconcile('patchNode')
  t.ok(has(), 'a write that was not made says nothing')
  answers.node = 'written'
  await reconcile('patchNode')
  t.notOk(has())
  t.same(lane.count(), { slow: 0, huge: 0 })
})

t.test('a quick write of the report does not say that those of the Node are, nor the reverse', async (t) => {
  const { answers, reconcile, has } = setUp()
  answers.node = 'unanswered'
  await reconcile('patchNode', 'patchReportStatus')
  t.ok(has())
  await reconcile('patchReportStatus')
  t.ok(has())
  answers.node = 'written'
  answers.report = 'unanswered'
  await reconcile('patchNode', 'patchReportStatus')
  await reconcile('patchNode')
  t.ok(has(), 'now for the report')
  answers.report = 'written'
  await reconcile('patchReportStatus')
  t.notOk(has())
})

t.test('a Node that is not written any more is not slow forever', async (t) => {
  const { clock, answers, reconcile, has } = setUp()
  answers.node = 'unanswered'
  await reconcile('patchNode')
  await clock.turn(500_000)
  answers.report = 'unanswered'
  await reconcile('patchReportStatus')
  await clock.turn(599_999)
  t.ok(has())
  await clock.turn(1)
  t.notOk(has())
})

t.test(
  'it knows what the former leader has said, and a Node of the same name from the one before',
  async (t) => {
    const { lane, stored, answers, calls, reconcile, has } = setUp()
    const said = {
      type: 'Initialized',
      status: 'Unknown',
      reason: 'NodeWritesSlow',
      message: 'no answer within 5 s',
      lastTransitionTime: '2026-03-01T09:59:55Z',
    } as const
    stored.report = report({ status: { conditions: [said] } })
    t.ok(has())
    await reconcile('patchNode')
    t.same(calls, ['patient'])
    stored.report = report()
    t.notOk(has())

    answers.node = 'unanswered'
    await reconcile('patchNode')
    stored.node = node({ uid: 'another' })
    t.notOk(has())
    stored.node = node()
    t.ok(has())
    lane.forget(stored.node.name)
    t.notOk(has())
    stored.node = undefined
    t.notOk(has(), 'a Node that is gone is cleaned up at once')
  },
)

t.test('a huge Node is in however quick its writes are', async (t) => {
  const taint = (_: unknown, i: number) => ({ key: `example.com/${i}`, effect: 'NoSchedule' })
  for (const [what, change] of Object.entries({
    labels: { labelCount: 1_001 },
    taints: { taints: Array.from({ length: 101 }, taint) },
  })) {
    const { lane, calls, reconcile, has } = setUp(change)
    t.ok(has(), what)
    await reconcile('patchNode')
    t.ok(has(), what)
    t.same(calls, ['brief'], 'that it is slow must show first')
    t.same(lane.count(), { slow: 0, huge: 1 })
  }
  const { has } = setUp({ labelCount: 1_000, taints: Array.from({ length: 100 }, taint) })
  t.notOk(has())
})
