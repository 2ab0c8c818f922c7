import t from 'tap'
import { BIOS_UUID, decide, facts, fleet, NOW, report, SETTINGS } from '../../../../../test/fixtures/facts.ts'
import { failure, gone, settings, unready } from '../../../../../test/fixtures/gone.ts'
import { absence, probe } from '../../../../../test/fixtures/probes.ts'
import { migrated } from '../../../../../test/fixtures/unseen.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { Evidence } from './evidence.ts'

const { lifecycle } = SETTINGS
t.test('a sign of life that came with the first proof is soon known to be the last, or not', async (t) => {
  const facts = gone()
  const due = (ago: number, beats: boolean, spokenAt?: number, status: 'Unknown' | 'False' = 'Unknown') => {
    const evidence = { ...absence(facts, { absentFor: 0, times: 1, beats }), spokenAt }
    const node = { ...facts.node, ready: { lastHeartbeatTime: '', ...facts.node.ready, status } }
    return decide({ ...facts, node, evidence: { ...evidence, askedAt: facts.monotonic - ago } }).probePlan
      ?.due
  }
  t.same([due(19_999, true), due(20_000, true)], [false, true])
  t.same(
    [due(20_000, false), due(20_000, false, 1), due(20_000, true, 1, 'False')],
    [false, false, false],
    'who is silent, or speaks on, is asked less',
  )
  t.same(
    [due(19_999, true, 1), due(20_000, true, 1)],
    [false, true],
    'who has spoken once more, and is called silent since, is asked soon',
  )
})

t.test('answers that come late count, and old ones do not', async (t) => {
  const slow = { ...absence(gone()), askedAt: gone().monotonic - 40_000 }
  t.ok(decide(gone({ evidence: slow })).deletion, 'one answer took long')
  for (const [clock, answeredAt] of Object.entries({
    monotonic: { monotonic: gone().monotonic - 10_001, now: NOW },
    'the wall': { monotonic: gone().monotonic, now: NOW - 10_001 },
    'the wall, set back': { monotonic: gone().monotonic, now: NOW + 10_001 },
  })) {
    const decision = decide(gone({ evidence: { ...absence(gone()), answeredAt } }))
    t.equal(decision.deletion, undefined, clock)
    t.equal(decision.probePlan?.due, true, clock)
  }
})

t.test('a probe is due when the proof has lasted for long enough', async (t) => {
  const { monotonic } = facts()
  const due = (lasted: number, ago: number) => {
    const last = monotonic - ago
    const absent = { since: last - lasted, last, times: 3 }
    return decide(gone({ evidence: { ...absence(gone(), { ago }), absent } })).probePlan?.due
  }
  t.same([due(190_000, 109_999), due(190_000, 110_000)], [false, true], 'a third one came in between')
  t.same([due(40_000, 149_999), due(40_000, 150_000)], [false, true])
})

t.test('who must be absent for longer, and is silent, is asked about less often', async (t) => {
  const facts = migrated({ unbound: 'delete' })
  const { evidence } = facts
  const short = lifecycle.absentFor / 2
  const long = 6 * short
  const due = (changes: Partial<Evidence>, times = 2, others: Partial<NodeFacts> = {}) => {
    const ago = (wait: number) => {
      const askedAt = facts.monotonic - wait
      const absent = { since: askedAt - (times - 1) * short, last: askedAt, times }
      return { ...facts, ...others, evidence: evidence && { ...evidence, askedAt, absent, ...changes } }
    }
    return [short, long].filter(
      (wait) => decide(ago(wait)).probePlan?.due === true && decide(ago(wait - 1)).probePlan?.due === false,
    )
  }
  t.same(due({}), [long], 'all but the first are spread over all that time')
  t.same(due({}, 1), [short], 'its silence shows soon')
  t.same(due({ spokenAt: facts.monotonic - 1_000_000 }), [short], 'one that has spoken may live')
  t.same(due({}, 2, { report: report({ ...facts.report, generation: 7 }) }), [short], 'or speaks now')
  t.same(due({}, 2, { fleet: () => fleet({ latched: 1 }) }), [short], 'or is held by the brake')
})

t.test('who gets the same answer again and again asks less often', async (t) => {
  const probes = [probe({ canary: { state: 'unproven', failure } })]
  const unproven = (n: number, ago: number) =>
    decide(gone({ evidence: { ...absence(gone(), { probes, ago }), absent: undefined, unproven: n } }))
  t.same(
    [1, 2, 3, 9].map((n) => unproven(n, 0).requeueAfter),
    [30_000, 60_000, 60_000, 60_000],
    'and looks every minute',
  )
  t.same(
    [unproven(1, 30_000), unproven(4, 239_999), unproven(4, 240_000), unproven(40, 240_000)].map(
      ({ probePlan }) => probePlan?.due,
    ),
    [true, false, true, true],
  )
  const short = gone(settings({ absentFor: 100_000 }))
  const soon = (ago: number) =>
    decide({ ...short, evidence: { ...absence(short, { probes, ago }), absent: undefined, unproven: 9 } })
  t.same(
    [soon(79_999), soon(80_000)].map(({ probePlan }) => probePlan?.due),
    [false, true],
    'but before another could be deleted that vanishes now',
  )
  const long = gone(settings({ absentFor: 3_600_000 }))
  const late = (ago: number) =>
    decide({ ...long, evidence: { ...absence(long, { probes, ago }), absent: undefined, unproven: 9 } })
  t.same(
    [late(239_999), late(240_000)].map(({ probePlan }) => probePlan?.due),
    [false, true],
    'and never less often than every four minutes, however long a VM must be absent',
  )
  t.same(unproven(4, 0).recheck, [], 'and does not search besides')
  const lease = { ...absence(gone()), absent: undefined, heartbeat: undefined, unproven: 1 }
  t.equal(decide(gone({ evidence: lease })).probePlan?.due, false, 'a Lease that cannot be read, too')
})

t.test('who waits for something else is asked about seldom, and searched for', async (t) => {
  const held = (ago: number) =>
    decide(gone({ evidence: absence(gone(), { ago }), node: { ...unready, deletionAnnotation: 'hold' } }))
  t.equal(held(599_999).probePlan?.due, false)
  t.same(held(599_999).recheck, [BIOS_UUID], 'it may be back')
  t.equal(held(599_999).requeueAfter, 1)
  t.equal(held(100_000).requeueAfter, 60_000)
  t.equal(held(600_000).probePlan?.due, true)
  t.equal(
    decide(gone({ evidence: absence(gone(), { ago: 11_000 }) })).probePlan?.due,
    true,
    'the last answer is old',
  )
})
