import t from 'tap'
import { after, decide, facts, settled, vm } from '../../../../test/fixtures/facts.ts'
import type { NodeFacts } from './node-facts.ts'
import { decideOnRejectedWrite } from './rejected-write.ts'

/** After the API server has refused the patch that these facts lead to. */
function refused(before: NodeFacts): NodeFacts {
  const write = { write: 'node', outcome: 'rejected', message: 'webhook says no' } as const
  const { status } = decideOnRejectedWrite(write, decide(before), before, before.now)
  if (before.report === undefined || status === undefined) throw new Error('there is a report')
  return { ...before, report: { ...before.report, status } }
}

const initialized = ({ report }: NodeFacts) =>
  report?.status.conditions?.find(({ type }) => type === 'Initialized')

const OFF = settled({ vms: [vm({ powerState: 'poweredOff' })] }).lookups
const AWAY = settled({ vms: [] }).lookups

t.test('a refusal is told until nothing is refused any more, though the VM no longer runs', async (t) => {
  const node = { ...settled().node, labels: {} }
  const told = refused({ ...settled(), node })
  t.match(initialized(told), { status: 'False', reason: 'NodePatchRefused' })
  for (const [what, lookups] of Object.entries({ 'it is off': OFF, 'it is missing': AWAY })) {
    const changed = { ...told, lookups }
    t.match(initialized(refused(changed)), { status: 'False', reason: 'NodePatchRefused' }, 'still refused')
    const next = after(changed, decide(changed))
    t.match(initialized(next), { status: 'True', reason: 'Initialized' }, what)
    const again = decide(next)
    t.strictSame(again.status ?? next.report?.status, next.report?.status, 'written once')
  }
})

t.test('of a Node that was never initialized it is told that its VM is off', async (t) => {
  const told = refused(facts())
  const off = { ...told, lookups: OFF }
  t.match(initialized(after(off, decide(off))), { status: 'False', reason: 'VMPoweredOff' })
})

t.test(
  'a patch that is not answered may have been stored: the Node is said to be slow until it is written',
  async (t) => {
    const unanswered = (before: NodeFacts) => {
      const write = { write: 'node', outcome: 'unanswered', message: 'no answer within 5 s' } as const
      return decideOnRejectedWrite(write, decide(before), before, before.now)
    }
    const before = facts()
    const told = unanswered(before)
    t.match(told, {
      state: 'refused',
      refusal: { condition: 'Initialized', reason: 'NodeWritesSlow' },
      events: [{ type: 'Warning', reason: 'NodeWritesSlow' }],
      requeue: true,
    })
    t.notOk(told.patch)
    const slow = after(before, told)
    t.match(initialized(slow), {
      status: 'Unknown',
      reason: 'NodeWritesSlow',
      message: /slow to write this Node: no answer within 5 s; look for an admission webhook/,
    })
    t.same(unanswered(slow).events, [], 'told once')
    t.match(initialized(after(slow, decide(slow))), { status: 'True', reason: 'Initialized' })
    const off = { ...slow, node: settled().node, lookups: OFF }
    t.match(
      initialized(after(off, decide(off))),
      { status: 'True', reason: 'Initialized' },
      'nothing to be written',
    )

    const huge = { ...before, node: { ...before.node, labelCount: 20_000 } }
    t.match(initialized(after(huge, unanswered(huge))), {
      message: /it has 20000 labels and 1 taints: remove/,
    })
  },
)

t.test('what a taint would do is not said of one that is not accepted', async (t) => {
  const told = ({ report }: NodeFacts) =>
    report?.status.conditions?.find(({ type }) => type === 'VMFound')?.message
  const off = { ...settled(), lookups: OFF }
  t.match(
    told(refused(off)),
    /is powered off: the API server rejected the taint .*, so pods may still be scheduled/,
  )
  const again = refused(refused(off))
  t.strictSame(again.report?.status, refused(off).report?.status, 'written once')
  t.match(told(after(again, decide(again))), /no new pods are scheduled/, 'once it is accepted')
  const unanswered = { write: 'node', outcome: 'unanswered', message: 'no answer within 5 s' } as const
  const unknown = after(off, decideOnRejectedWrite(unanswered, decide(off), off, off.now))
  t.match(told(unknown), /: the API server has not yet confirmed the taint .*, so pods may/)
  const shutdown = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
  const tainted = { ...off, node: { ...off.node, taints: [shutdown] } }
  const write = { write: 'node', outcome: 'rejected', message: 'webhook says no' } as const
  const { status } = decideOnRejectedWrite(write, { ...decide(off), patch: { taints: [] } }, tainted, off.now)
  const found = status?.conditions?.find(({ type }) => type === 'VMFound')
  t.match(found?.message, /no new pods are scheduled/, 'it is there, whatever else is refused')
})
