import t from 'tap'
import { after, decide, facts, settled, vm } from '../../test/fixtures/facts.ts'
import type { NodeFacts } from './node-facts.ts'
import { decideOnRejectedWrite } from './rejected-write.ts'

/** After the API server has refused the patch that these facts lead to. */
function refused(before: NodeFacts): NodeFacts {
  const write = { write: 'node', message: 'webhook says no' } as const
  const { status } = decideOnRejectedWrite(write, decide(before), before.report, before.now)
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

t.test('of a Node that was never initialised it is told that its VM is off', async (t) => {
  const told = refused(facts())
  const off = { ...told, lookups: OFF }
  t.match(initialized(after(off, decide(off))), { status: 'False', reason: 'VMPoweredOff' })
})
