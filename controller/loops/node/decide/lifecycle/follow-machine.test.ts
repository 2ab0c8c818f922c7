import t from 'tap'
import { after, boundVM, decide, facts, SETTINGS } from '../../../../../test/fixtures/facts.ts'
import { absence, probe } from '../../../../../test/fixtures/probes.ts'
import type { Proof } from '../../../../types/inventory.ts'
import type { NodeFacts } from '../node-facts.ts'

const proven: Proof = { state: 'proven' }
const lacking: Proof = {
  state: 'unproven',
  failure: {
    vCenter: 'vc2',
    reason: 'PrivilegeMissing',
    message: 'the account lacks System.Read on the root folder',
  },
}
const off: NodeFacts['settings'] = { ...SETTINGS, lifecycle: { ...SETTINGS.lifecycle, deletion: 'off' } }

/** A Node that is verified, and as it should be. */
const settled = after(facts(), decide(facts()))

function look(changes: Partial<NodeFacts>, before = settled) {
  const now = { ...before, ...changes }
  const decision = decide(now)
  const said = (decision.status?.conditions ?? now.report?.status.conditions ?? []).find(
    ({ type }) => type === 'DeletionPossible',
  )
  return { decision, said, after: after(now, decision) }
}

t.test(
  'a Node whose absence could be proven, or of which that is not known, is not written to',
  async (t) => {
    for (const provable of [[], [proven], [undefined], [proven, undefined]]) {
      const { decision, said } = look({ provable })
      t.equal(said, undefined)
      t.same(decision.events, [])
    }
  },
)

t.test('what is lacking is told while the VM is there: once, and until it is not', async (t) => {
  const first = look({ provable: [proven, lacking] })
  const message =
    /^if its VM vanished, that could not be proven, and the Node would be kept forever: vCenter vc2: the account lacks/
  t.match(first.said, { status: 'False', reason: 'PrivilegeMissing', message })
  t.match(first.decision.events, [{ type: 'Warning', reason: 'PrivilegeMissing', message }])
  t.equal(first.decision.state, 'initialized')
  t.equal(first.decision.refusal, undefined, 'it holds nothing up')

  const second = look({ provable: [proven, lacking] }, first.after)
  t.same(second.decision.events, [])
  t.same(second.said, first.said)
  const away = look({ provable: [proven, undefined] }, first.after)
  t.same(away.said, first.said, 'what is not known ends nothing')

  const mended = look({ provable: [proven, proven] }, first.after)
  t.match(mended.said, { status: 'True', reason: 'AbsenceProvable' })
  t.same(look({ provable: [proven, proven] }, mended.after).said, mended.said)
  t.match(look({ provable: [lacking] }, mended.after).said, { status: 'False' })
})

t.test('of a VM that is missing, its own probe says that nothing is lacking any more', async (t) => {
  const { after: told } = look({ provable: [proven, lacking] })
  const evidence = (...probes: Parameters<typeof probe>[0][]) =>
    absence(told, { vm: told.report?.status.vm ?? boundVM(), probes: probes.map(probe) })
  const said = (...probes: Parameters<typeof probe>[0][]) =>
    look({ provable: [undefined], evidence: evidence(...probes) }, told).said
  t.match(said({}, { vCenter: 'vc2', vCenterInstanceUUID: 'two' }), { status: 'True' })
  t.match(said({}, { vCenter: 'vc2', vCenterInstanceUUID: 'two', privileges: lacking }), { status: 'False' })
  const ofAnother = absence(told, { vm: boundVM({ moref: 'vm-other' }) })
  t.match(look({ provable: [undefined], evidence: ofAnother }, told).said, { status: 'False' })
  t.match(look({ provable: [lacking], evidence: evidence({}) }, told).said, { status: 'False' })
})

t.test('where no Node is to be deleted, nothing is lacking', async (t) => {
  t.equal(look({ provable: [lacking], settings: off }).said, undefined)
})
