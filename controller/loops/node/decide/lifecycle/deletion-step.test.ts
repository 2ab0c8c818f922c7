import t from 'tap'
import type { Condition } from '../../../../../agent/shared/node-report.ts'
import {
  after,
  at,
  BIOS_UUID,
  boundVM,
  decide,
  facts,
  fleet,
  NOW,
  report,
  SETTINGS,
  settled,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import {
  failure,
  gone,
  LACKING,
  NO_VM,
  OTHER_UUID,
  settings,
  takenOver,
  unready,
} from '../../../../../test/fixtures/gone.ts'
import { absence, answered, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import { migrated } from '../../../../../test/fixtures/unseen.ts'
import type { VCenterProbe } from '../../../../types/inventory.ts'
import type { Taint } from '../../../../types/node.ts'
import { agentlessReport } from '../../facts/previous-status.ts'
import type { Decision } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { PROOFS } from './absence-proofs.ts'
import { isPartlyConfirmed, PRECONDITIONS } from './deletion-preconditions.ts'
import type { Evidence } from './evidence.ts'
import { OUT_OF_SERVICE } from './out-of-service.ts'
import { SHUTDOWN } from './shutdown-taint.ts'

const { lifecycle } = SETTINGS
const NOBODY = '420e3f74-ea84-f9a2-7736-6106bb5dbf6d'
function pending(decision: Decision): Condition | undefined {
  return decision.status?.conditions?.find(({ type }) => type === 'DeletionPending')
}

t.test('a Node whose VM is gone beyond doubt is deleted', async (t) => {
  const decision = decide(gone())
  t.match(decision.deletion, {
    vCenter: 'vc1',
    event: { reason: 'NodeDeleted', message: /vm-42.*gone/ },
    cpiEvent: { reason: 'DeletingNode', component: 'cloud-node-lifecycle-controller' },
  })
  t.notOk(
    decision.events.some(({ reason }) => reason === 'VMGone'),
    'one Event is enough: that it is deleted',
  )
  t.equal(decision.confirmLease, true)
  t.equal(decision.patch, undefined, 'what is deleted is not patched')
  t.equal(decision.probePlan?.absence, undefined, 'from now on it counts among the deleted alone')
  t.same(decision.deletion?.vanished, at(gone().monotonic))
  t.match(pending(decision), { status: 'True', reason: 'VMGone' })
})

t.test('while a CPI handles Nodes, none is deleted, and one that was to go says so', async (t) => {
  const interlock = { state: 'held', message: 'stop the CPI' } as const
  const before = after(gone(), decide(gone({ leadingFor: 0 })))
  t.equal(pending(decide(gone({ leadingFor: 0 })))?.reason, 'LeaderTooYoung')
  const held = decide({ ...before, interlock })
  t.match(held, { deletion: undefined, patch: undefined, probePlan: undefined })
  t.match(pending(held), { status: 'Unknown', reason: 'CPIRuns', message: 'stop the CPI' })
  t.equal(decide(gone({ interlock })).deletion, undefined)
  t.ok(decide(after(before, held)).deletion, 'and goes on when that is over')
})

t.test('each precondition keeps the Node, by itself, and says why', async (t) => {
  t.strictSame(
    Object.keys(LACKING).sort(),
    [...PROOFS, ...PRECONDITIONS].map(({ name }) => name).sort(),
    'there is a row for each',
  )
  for (const [name, [changes, reason]] of Object.entries(LACKING)) {
    const decision = decide(gone(changes))
    t.equal(decision.deletion, undefined, name)
    const condition = pending(decision)
    t.equal(condition?.reason, reason, name)
    t.ok((condition?.message.length ?? 0) > 40, `${name} says more than its name`)
    t.ok(decision.probePlan !== undefined, `${name}: it goes on being watched`)
    t.ok(
      decision.probePlan?.due === true || (decision.requeueAfter ?? Number.NaN) > 0,
      `${name}: there is a next look`,
    )
    const again = decide({
      ...gone(changes),
      report: report({ ...gone(changes).report, status: decision.status ?? {} }),
    })
    t.same(again.events, [], `${name} is said once`)
    t.same(again.status, decision.status, `${name} is written once`)
  }
})

t.test('what is unmet stands in the status by its name, as long as the condition says so', async (t) => {
  const before = gone({ leadingFor: 0, evidence: absence(gone(), { times: 1, ago: 10_001 }) })
  const decision = decide(before)
  t.match(pending(decision), { status: 'True', reason: 'LeaderTooYoung' })
  t.same(decision.status?.deletionUnmet, ['LeaderSettled', 'Confirmed'], 'without what comes and goes')
  const next = after(before, decision)
  const unanswered = decide({ ...next, lookups: [] })
  t.same(unanswered.status?.deletionUnmet, decision.status?.deletionUnmet, 'it stays with the condition')
  const back = settled()
  const there = decide({ ...next, lookups: back.lookups, node: { ...next.node, ready: back.node.ready } })
  t.match(pending(there), { status: 'False' })
  t.equal(there.status?.deletionUnmet, undefined)
  const left = decide({ ...next, interlock: { state: 'held', message: 'stop the CPI' } })
  t.match(pending(left), { status: 'Unknown', reason: 'CPIRuns' })
  t.equal(left.status?.deletionUnmet, undefined)
  t.same(decide(gone()).status?.deletionUnmet, [], 'nothing is missing')
  const exists = decide(gone(answered([probe({ moref: { state: 'found', vm: seenVM() } })])))
  t.equal(exists.status?.deletionUnmet, undefined)
})

t.test('the condition tells what is known of the VM', async (t) => {
  t.match(pending(decide(gone({ evidence: undefined }))), { status: 'Unknown', reason: 'NotConfirmed' })
  t.match(pending(decide(gone(LACKING.ReferenceNotFound?.[0]))), { status: 'False', reason: 'VMExists' })
  t.match(pending(decide(gone(LACKING.PrivilegesProven?.[0]))), { status: 'Unknown' })
  t.match(pending(decide(gone(LACKING.NodeNotReady?.[0]))), { status: 'True', message: /unregistered/ })
  const two = decide(gone({ leadingFor: 0, node: { ...unready, deletionAnnotation: 'hold' } }))
  t.match(pending(two)?.message, /hold.*must lead/, 'all that is missing is listed')
  const unknown = { state: 'unknown', failure } as const
  const silent = decide(gone(answered([probe({ moref: unknown, instanceUUID: unknown, biosUUID: unknown })])))
  t.equal(pending(silent)?.message.split(failure.message).length, 2, 'one cause is told once')
})

t.test('an annotation that is neither holds the Node too, and is not repeated', async (t) => {
  const decision = decide(gone({ node: { ...unready, deletionAnnotation: 'procede' } }))
  t.equal(decision.deletion, undefined)
  t.match(pending(decision), { reason: 'DeletionHeld', message: /7 characters/ })
  t.notMatch(pending(decision)?.message, /procede/)
})

/** So many other VMs vanished just now. */
function many(count: number): Pick<NodeFacts, 'fleet'> {
  return { fleet: () => fleet({ absentSince: Array(count).fill(facts().monotonic) }) }
}

t.test('the first of many goes only when it is known of the others whether they count', async (t) => {
  const uncertain = { fleet: () => fleet({ pendingSince: Array(4).fill(facts().monotonic) }) }
  const first = decide(gone(uncertain))
  t.equal(first.deletion, undefined)
  const { status, reason, message = '' } = pending(first) ?? {}
  t.match({ status, reason }, { status: 'True', reason: 'BrakeUndecided' })
  t.match(message, /deletion is on hold until it is known how many VMs of vCenter vc1 vanished/)
  t.match(
    message,
    /; this ends by itself, or allow the deletion of this Node: kubectl annotate node worker-1 \S+=proceed$/,
  )
  t.ok(message.length < 1024)
  t.equal(first.status?.brakeEngagedAt, undefined, 'nothing is remembered of that')
  t.match(
    first.events.filter(({ reason }) => reason.startsWith('Brake')),
    [{ type: 'Warning', reason: 'BrakeUndecided', message }],
  )
  const known = gone({ ...many(4), report: report({ ...gone().report, status: first.status ?? {} }) })
  t.match(
    decide(known).events.filter(({ reason }) => reason.startsWith('Brake')),
    [{ reason: 'BrakeEngaged', message: /the deletion brake is engaged: / }],
    'it engages once they are known to be gone',
  )
  const ready = { ...gone().node, ready: { status: 'True', lastHeartbeatTime: '' } }
  const { monotonic } = facts()
  t.match(decide({ ...gone({ node: ready }), absentSince: monotonic - 1_000 }).probePlan?.absence, {
    pending: true,
  })
  const longAgo = { ...gone({ node: ready }), absentSince: monotonic - 2 * lifecycle.absentFor }
  const { evidence } = longAgo
  t.match(
    decide(longAgo).probePlan?.absence,
    { pending: true, counts: false, lives: false },
    'it is silent, and kube-controller-manager may wait for longer than that',
  )
  const spoken = (since: number) =>
    evidence &&
    decide({
      ...longAgo,
      evidence: { ...evidence, spokenAt: since, absent: { since, last: monotonic, times: 3 } },
    })
  t.match(spoken(monotonic)?.probePlan?.absence, { pending: false, lives: true })
  t.match(spoken(monotonic - 30_000)?.probePlan?.absence, { pending: true, lives: false }, 'silent by now')
  const unproven = evidence && decide({ ...longAgo, evidence: { ...evidence, absent: undefined } })
  t.match(unproven?.probePlan?.absence, { pending: false }, 'what cannot be proven holds nobody forever')
})

t.test('one that fell silent long after its VM first went missing was there until then', async (t) => {
  const facts = gone()
  const { monotonic, evidence } = facts
  const noticed = monotonic - 70_000
  const span = (
    status: string,
    since: number,
    absent = { since: monotonic - 60_000, last: monotonic, times: 3 },
    silentFor = 70_000,
  ) => {
    const lastTransitionTime = new Date(NOW - silentFor).toISOString()
    const ready = { status, lastHeartbeatTime: '', lastTransitionTime }
    const decision = decide({
      ...gone({ node: { ...facts.node, ready } }),
      absentSince: monotonic - since,
      evidence: evidence && { ...evidence, absent },
    })
    return decision.probePlan?.absence
  }
  t.match(
    span('Unknown', 500_000),
    { since: monotonic - 500_000, until: noticed },
    'it may have been back, and vanished before its silence was noticed',
  )
  t.match(span('Unknown', 191_000), { until: noticed })
  t.match(span('Unknown', 189_000), { until: noticed - 60_000 }, 'or is found missing in parts')
  t.match(
    span('Unknown', 60_000),
    { since: monotonic - 60_000, until: monotonic - 60_000 },
    'as when it is destroyed',
  )
  t.match(span('True', 500_000), { since: monotonic - 500_000, until: monotonic - 500_000 })
  const run = (last: number) => ({ since: monotonic - 495_000, last, times: 9 })
  t.match(
    span('Unknown', 500_000, run(noticed - 30_000)),
    { until: monotonic - 495_000 },
    'proven absent and silent until the kubelet was missed: it was not back',
  )
  t.match(span('Unknown', 500_000, run(noticed - 31_000)), { until: noticed }, 'not until then')
  t.match(span('Unknown', 185_000, { ...run(monotonic), since: monotonic - 180_000 }), {
    until: monotonic - 180_000,
  })
  t.match(
    span('Unknown', 500_000, run(monotonic - 31_000), -70_000),
    { until: monotonic },
    'a clock that is ahead dates nothing later than now',
  )
})

t.test('one that vanished while vCenter did not answer may have vanished just before', async (t) => {
  const { monotonic, lookups } = gone()
  // Missing for as long as it takes to prove it, since vCenter answers again; it had hung for three minutes.
  const since = monotonic - lifecycle.absentFor
  const hungFrom = since - 180_000
  const others = { fleet: () => fleet({ bound: 3, absentSince: [hungFrom - 1_000] }) }
  const lost = (shownUntil: number): Partial<NodeFacts> => ({
    ...others,
    absentSince: since,
    lookups: lookups.map((each) => ({ ...each, lookup: { ...NO_VM, shownUntil } })),
  })
  const held = decide(gone(lost(hungFrom)))
  t.equal(held.deletion, undefined)
  t.match(pending(held), { reason: 'BrakeEngaged' })
  t.ok(held.status?.brakeEngagedAt)
  t.match(held.probePlan?.absence, { from: hungFrom, since, until: since })
  t.same(decide(gone(lost(since))).deletion?.vanished, at(since), 'it was shown until then')
  const ready = { ...gone().node, ready: { status: 'True', lastHeartbeatTime: '' } }
  const young = { ...lost(0), absentSince: monotonic, node: ready }
  t.match(decide(gone(young)).probePlan?.absence, { pending: true }, 'it is missing since just now')
})

t.test('the brake stays engaged until a person releases it, or the VM is back', async (t) => {
  const engaged = decide(gone(many(4)))
  t.match(engaged.status, { brakeEngagedAt: '2026-03-01T10:00:00Z', brakeEngagedFor: 'vc1' })
  t.match(engaged.probePlan?.absence, { latched: true, held: true })

  const alone = gone({ now: NOW + 3_600_000 })
  const remembered = { ...alone, report: report({ ...alone.report, status: engaged.status ?? {} }) }
  const still = decide(remembered)
  t.equal(still.deletion, undefined, 'the others are back, and this one is not')
  t.equal(still.status?.brakeEngagedAt, '2026-03-01T10:00:00Z')
  t.ok((still.requeueAfter ?? Number.NaN) <= 60_000)

  const other = decide(gone({ fleet: () => fleet({ latched: 1 }) }))
  t.equal(other.deletion, undefined, 'it holds for the whole vCenter')
  t.equal(other.status?.brakeEngagedAt, undefined, 'as long as it holds those')

  const leave = { ...remembered, node: { ...remembered.node, deletionAnnotation: 'proceed' } }
  const released = decide(leave)
  t.ok(released.deletion, 'a person lets it go')
  t.equal(released.deletion?.vanished, undefined, 'and it counts for nobody else')
  t.equal(
    released.status?.brakeEngagedAt,
    '2026-03-01T10:00:00Z',
    'and holds for this Node if the leave is taken back',
  )

  const found = answered([probe({ moref: { state: 'found', vm: seenVM() } })])
  t.equal(
    decide({ ...leave, ...found }).status?.brakeEngagedAt,
    '2026-03-01T10:00:00Z',
    'a glance does not release it',
  )

  const renamed = answered([probe({ moref: { state: 'found', vm: seenVM({ biosUUID: OTHER_UUID }) } })])
  const quiet = 2 * lifecycle.absentFor
  const there = (now: number) => decide({ ...remembered, now, ...renamed })
  t.match(there(NOW + quiet - 1_000), {
    status: { brakeEngagedAt: '2026-03-01T10:00:00Z' },
    requeueAfter: 1_000,
  })
  t.equal(there(NOW + quiet).status?.brakeEngagedAt, undefined, 'one that is there holds no other forever')
  t.match(pending(there(NOW + quiet)), { status: 'False', reason: 'VMExists' }, 'nor is it deleted')

  const back = decide({ ...leave, lookups: settled().lookups })
  t.equal(back.status?.brakeEngagedAt, undefined)
  t.equal(back.status?.absentSince, undefined)
  t.match(pending(back), { status: 'False', reason: 'VMExists' })
  t.match(back.patch, { annotations: { 'rollcall.dev/deletion': null } }, 'the leave was for that time')
  t.match(back.events, [
    { type: 'Normal', reason: 'VMExists' },
    { type: 'Normal', reason: 'ProceedAnnotationRemoved' },
  ])
})

t.test('the brake releases itself when few are missing, and have been for long', async (t) => {
  const quiet = 2 * lifecycle.absentFor
  const engaged = decide(gone(many(4)))
  const before = gone({
    report: report({ ...gone().report, status: engaged.status ?? {} }),
    fleet: () => fleet({ fewFor: quiet }),
  })
  const young = decide(before)
  t.ok(young.status?.brakeEngagedAt, 'its own absence is not proven for so long')
  const absent = { since: before.monotonic - quiet, last: before.monotonic, times: 9 }
  const { evidence } = before
  const released = evidence && decide({ ...before, evidence: { ...evidence, absent } })
  t.equal(released?.status?.brakeEngagedAt, undefined)
  t.ok(released?.deletion)
  const many4 = evidence && decide({ ...before, ...many(4), evidence: { ...evidence, absent } })
  t.ok(many4?.status?.brakeEngagedAt)
})

/** A Ready Node whose kubelet goes on speaking though vCenter has proven its VM absent. */
function living(changes: Partial<NodeFacts> = {}): NodeFacts {
  const facts = gone(changes)
  const ready = { status: 'True', lastHeartbeatTime: '' }
  const evidence = { ...absence(facts, { absentFor: 0, times: 1, beats: true }), spokenAt: facts.monotonic }
  return { ...facts, node: { ...facts.node, ready }, evidence }
}

t.test('one that lives though its VM is gone engages no brake, and holds nobody', async (t) => {
  const decision = decide(living(many(4)))
  t.match(decision.probePlan?.absence, {
    counts: false,
    lives: true,
    pending: false,
    latched: false,
    held: false,
    doubted: false,
  })
  t.equal(decision.status?.brakeEngagedAt, undefined)
  t.match(pending(decision), { reason: 'NodeReady' })
  t.ok(decide(gone({ fleet: () => fleet({ bound: 3, living: 1 }) })).deletion, 'another goes in its time')

  const engaged = decide(gone(many(4))).status ?? {}
  const report_ = report({ ...gone().report, status: engaged })
  t.equal(decide(living({ report: report_ })).status?.brakeEngagedAt, undefined, 'nor does it stay engaged')
  const silent = decide(gone({ report: report_ }))
  t.ok(silent.status?.brakeEngagedAt, 'as it does for one that is silent')
})

t.test('a vCenter that is wrong about many is not believed about any', async (t) => {
  const quiet = 2 * lifecycle.absentFor
  const held = decide(gone({ fleet: () => fleet({ bound: 10, living: 3 }) }))
  t.equal(held.deletion, undefined)
  t.match(pending(held), { status: 'True', reason: 'BrakeEngaged', message: /more machines that run/ })
  t.equal(held.status?.brakeEngagedAt, undefined, 'no latch is left')
  t.match(held.probePlan?.absence, { held: true, doubted: true, few: false, latched: false })
  t.match(decide(living({ fleet: () => fleet({ bound: 10, living: 2 }) })).probePlan?.absence, {
    doubted: true,
    held: false,
  })
  const after = (doubtedAgo: number) => decide(gone({ fleet: () => fleet({ living: 2, doubtedAgo }) }))
  t.match(pending(after(quiet - 1)), { reason: 'BrakeEngaged' }, 'nor just after')
  t.match(after(quiet - 1).probePlan?.absence, { doubted: false })
  t.ok(after(quiet).deletion)
  const meant = { ...gone().node, deletionAnnotation: 'proceed' }
  t.ok(decide(gone({ node: meant, fleet: () => fleet({ living: 9 }) })).deletion, 'but a person knows better')
})

t.test('one for which its kubelet alone has spoken for long is kept, and holds no other', async (t) => {
  const before = living()
  const { evidence, monotonic } = before
  if (evidence === undefined) throw new Error('it was asked')
  const of = (silentFor: number) =>
    decide({ ...before, evidence: { ...evidence, agentHeardAt: monotonic - silentFor } })
  t.match(of(6 * lifecycle.absentFor - 1).probePlan?.absence, { lives: true, counts: false })
  const zombie = of(6 * lifecycle.absentFor)
  t.match(zombie.probePlan?.absence, { lives: false, counts: false, pending: false, latched: false })
  t.match(pending(zombie), { reason: 'NodeReady' })
  t.equal(zombie.deletion, undefined)
})

t.test('one that is Ready may live or be gone, and counts for the others until that is known', async (t) => {
  const before = living({ absentSince: 0 })
  const { evidence } = before
  const unheard = evidence && decide({ ...before, evidence: { ...evidence, spokenAt: undefined } })
  t.match(unheard?.probePlan?.absence, { lives: false, counts: false, pending: true })
  t.match(decide({ ...before, evidence: undefined }).probePlan?.absence, { pending: true }, 'not asked yet')
  const unproven =
    evidence && decide({ ...before, evidence: { ...evidence, absent: undefined, spokenAt: undefined } })
  t.match(unproven?.probePlan?.absence, { pending: false }, 'but not where vCenter cannot say')
  const due = (ago: number, spokenAt: number | undefined) =>
    evidence && decide({ ...before, evidence: { ...evidence, askedAt: before.monotonic - ago, spokenAt } })
  t.same(
    [due(19_999, undefined), due(20_000, undefined), due(20_000, 1)].map((each) => each?.probePlan?.due),
    [false, true, false],
    'which is asked about soon',
  )
})

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

t.test('a fleet that grows or shrinks changes no word of what the brake holds', async (t) => {
  const of = (bound: number) => decide(gone({ fleet: () => fleet({ bound, latched: bound }) }))
  t.match(pending(of(10)), { reason: 'BrakeEngaged' })
  t.equal(pending(of(10))?.message, pending(of(11))?.message)
})

t.test('one command lets go all that it holds', async (t) => {
  const { message = '' } = pending(decide(gone(many(4)))) ?? {}
  t.ok(message.length < 1024)
  t.match(
    message,
    `kubectl annotate node $(kubectl get nr -o jsonpath='{.items[?(@.status.brakeEngagedFor=="vc1")].metadata.name}') rollcall.dev/deletion=proceed`,
  )
})

t.test('since when a VM has been missing is written down once, and known to every leader', async (t) => {
  const { monotonic } = facts()
  const first = decide(gone({ evidence: undefined }))
  t.equal(first.status?.absentSince, '2026-03-01T10:00:00Z')
  t.equal(first.probePlan?.absence?.since, monotonic)
  const before = gone({ now: NOW + 120_000, evidence: undefined })
  const later = { ...before, report: report({ ...before.report, status: first.status ?? {} }) }
  t.equal(decide(later).probePlan?.absence?.since, monotonic - 120_000, 'by the clock on the wall')
  t.equal(
    decide({ ...later, absentSince: 17 }).probePlan?.absence?.since,
    17,
    'unless this leader knows better',
  )
  t.equal(decide({ ...later, absentSince: 17 }).status?.absentSince, '2026-03-01T10:00:00Z', 'as it stood')
})

t.test('who deletes nothing leaves no latch behind', async (t) => {
  for (const deletion of ['dry-run', 'off'] as const) {
    const decision = decide(gone({ ...many(4), ...settings({ deletion }) }))
    t.equal(decision.status?.brakeEngagedAt, undefined, deletion)
    const { message = '' } = pending(decision) ?? {}
    t.match(message, /the deletion brake would engage: more VMs/, 'though it says what it would do')
    t.notMatch(message, 'brakeEngagedFor', 'with no command for reports that do not say so')
    const engaged = decide(gone(many(4)))
    const former = { report: report({ ...gone().report, status: engaged.status ?? {} }) }
    const away = [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } as const }]
    for (const lookups of [gone().lookups, away])
      t.equal(
        decide(gone({ ...settings({ deletion }), ...former, lookups })).status?.brakeEngagedAt,
        undefined,
        'nor what was written down before',
      )
    t.ok(decide(gone({ ...former, lookups: away })).status?.brakeEngagedAt)
  }
})

t.test('a vCenter that empties by and by is slowed down, and no more', async (t) => {
  const { monotonic } = facts()
  const after = (...ago: number[]) =>
    decide(
      gone({
        fleet: () => fleet({ deleted: ago.map((ago) => ({ ago, vanished: at(monotonic - 50_000) })) }),
      }),
    )
  t.ok(after(100_000).deletion)
  const held = after(100_000, 200_000)
  t.match(pending(held), { reason: 'BrakeUndecided', message: /Nodes were deleted within 10m, there may be/ })
  t.equal(held.status?.brakeEngagedAt, undefined, 'past deletions alone leave no latch')
  t.ok(after(2 * lifecycle.absentFor, 2 * lifecycle.absentFor).deletion, 'that was another time')
})

t.test('a VM with its UUID that is not the one it was is no absence', async (t) => {
  const other = vm({
    moref: 'vm-9',
    instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    ancestry: undefined,
  })
  const lookups = settled({ vms: [other] }).lookups
  const decision = decide(gone({ lookups }))
  t.equal(decision.deletion, undefined)
  t.match(pending(decision), { status: 'Unknown', reason: 'UUIDOfAnotherVM' })
  t.match(
    decision.probePlan,
    { due: false, missing: undefined, absence: undefined },
    'only whether it is gone itself',
  )
  t.equal(decide(gone({ lookups: [] })).deletion, undefined, 'nobody was asked')

  const braked = (now: number) =>
    decide(
      gone({
        lookups,
        now,
        report: report({ status: { ...gone().report?.status, brakeEngagedAt: '2026-03-01T10:00:00Z' } }),
      }),
    )
  const quiet = 2 * lifecycle.absentFor
  t.equal(braked(NOW + quiet - 1).status?.brakeEngagedAt, '2026-03-01T10:00:00Z')
  t.equal(braked(NOW + quiet - 1).requeueAfter, 1)
  t.equal(
    braked(NOW + quiet).status?.brakeEngagedAt,
    undefined,
    'nor does it hold others by the brake forever',
  )
  const ahead = braked(NOW - 86_400_000)
  t.equal(ahead.status?.brakeEngagedAt, '2026-02-28T10:00:00Z', 'nor when a clock that was ahead wrote it')
  t.ok((ahead.requeueAfter ?? Number.NaN) <= quiet)
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

t.test('that the brake engages is told, whatever the condition has to say first', async (t) => {
  const told = (decision: Decision) =>
    decision.events.filter(({ reason }) => reason === 'BrakeEngaged').length
  for (const changes of [{ leadingFor: 0 }, settings({ absentFor: 1_000_000 }), {}]) {
    const decision = decide(gone({ ...many(4), ...changes }))
    t.equal(told(decision), 1)
    const again = {
      ...gone({ ...many(4), ...changes }),
      report: report({ ...gone().report, status: decision.status ?? {} }),
    }
    t.equal(told(decide(again)), 0, 'once')
  }
})

t.test('a brake that only waits for what may still count is said last, and by no Event yet', async (t) => {
  const uncertain = { fleet: () => fleet({ pendingSince: Array(4).fill(facts().monotonic) }) }
  const decision = decide(gone({ ...uncertain, leadingFor: 0 }))
  t.match(pending(decision), { reason: 'LeaderTooYoung', message: /; deletion is on hold until / })
  t.same(
    decision.events.filter(({ reason }) => reason.startsWith('Brake')),
    [],
  )
  const others = { fleet: () => fleet({ latched: 1 }) }
  t.match(pending(decide(gone({ ...others, leadingFor: 0 }))), { reason: 'BrakeEngaged' }, 'it has engaged')
})

t.test('a vCenter that does not answer is said of silent Nodes alone', async (t) => {
  const lookups = settled().lookups.map((each) => ({
    ...each,
    lookup: { state: 'unknown', failure } as const,
  }))
  const silent = decide(gone({ lookups }))
  t.match(pending(silent), { status: 'Unknown', reason: 'NoPermission' })
  t.equal(silent.probePlan, undefined)
  t.equal(decide(settled({ lookups })).status, undefined)
})

t.test(
  'a VM that was registered again is noted by its new reference, though no search by BIOS UUID finds it',
  async (t) => {
    const found = { state: 'found', vm: seenVM({ moref: 'vm-99', biosUUID: OTHER_UUID }) } as const
    const registered = (changes: Partial<VCenterProbe>) =>
      decide(gone(answered([probe({ instanceUUID: found, ...changes })]))).status?.namedVM?.moref
    t.equal(registered({}), 'vm-99')
    t.equal(registered({ moref: found }), undefined, 'the one that it had still answers')
    t.equal(registered({ vCenterInstanceUUID: 'another' }), undefined, 'that is another vCenter')
    const elsewhere = { state: 'found', vm: seenVM({ moref: 'vm-98' }) } as const
    t.equal(
      registered({ instanceUUID: { state: 'not-found' }, biosUUID: elsewhere }),
      undefined,
      'a BIOS UUID may be copied',
    )
  },
)

t.test('what the report names is searched for, though the VM before is asked about on purpose', async (t) => {
  t.same(decide({ ...takenOver(), evidence: undefined }).recheck, [OTHER_UUID])
  t.same(decide(gone({ evidence: undefined })).recheck, [])
})

t.test(
  'a Node whose VM went to another vCenter is bound to it there, once it is proven gone here',
  async (t) => {
    // A moref is unique within one vCenter only: another may give out the same.
    for (const moref of ['vm-7', boundVM().moref]) {
      const there = vm({
        vCenter: { name: 'vc2', instanceUUID: 'two' },
        moref,
        instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b',
      })
      const lookups = [
        ...settled({ vms: [] }).lookups,
        { vCenter: 'vc2', uuid: boundVM().biosUUID, lookup: { state: 'answered', vms: [there] } } as const,
      ]
      const first = decide(gone({ lookups, evidence: undefined }))
      t.match(first.status?.vm, { vCenter: 'vc1' }, 'a copy looks the same')
      t.match(first.probePlan, { due: true, missing: undefined })
      const run = { since: 0, last: lifecycle.absentFor, times: lifecycle.confirmations }
      const departed = (spoke: boolean) =>
        gone({ lookups, evidence: { ...absence(gone()), departed: { ...run, spoke } } })
      t.match(decide(departed(false)).status?.vm, { vCenter: 'vc1' }, 'its machine is silent')
      const decision = decide(departed(true))
      t.match(decision.status, { vm: { vCenter: 'vc2', moref }, formerVMs: undefined })
      t.match(
        decision.events.filter(({ reason }) => reason === 'VMChanged'),
        [{ type: 'Warning', message: /in vCenter vc2 now and was .* in vCenter vc1: .*proven gone/ }],
      )
      t.equal(pending(decision), undefined)
      t.equal(decision.probePlan, undefined)
    }
  },
)

t.test('a binding whose level has ended still counts for deletion', async (t) => {
  const { identityLevel: _, ...unverified } = gone().report?.status ?? {}
  const ended = gone({ report: report({ status: unverified }) })
  t.match(decide(ended).deletion, { vCenter: 'vc1' })
  t.match(decide({ ...ended, evidence: undefined }).probePlan, { due: true, absence: {} })
  const back = { ...ended, lookups: settled().lookups, evidence: undefined }
  t.equal(decide(back).probePlan, undefined, 'its VM is there')
  const off = settled({ vms: [vm({ powerState: 'poweredOff' })] })
  t.equal(decide({ ...ended, lookups: off.lookups }).patch?.taints, undefined, 'nor is it tainted by it')
})

t.test(
  'a machine that took the Node over and that no vCenter has shown keeps it, whatever is configured',
  async (t) => {
    const kept = pending(decide(takenOver({ unbound: 'delete' })))
    t.match(kept, { status: 'True', reason: 'NotBound' })
    t.match(kept?.message, new RegExp(`${OTHER_UUID}.*kubectl delete node worker-1$`))
  },
)

t.test('one that only names a VM engages the brake for nobody who was verified', async (t) => {
  const { status: { vm: namedVM, nodeUID } = {}, ...former } = gone().report ?? report()
  const joined = report({ ...former, status: { ...(nodeUID && { nodeUID }), ...(namedVM && { namedVM }) } })
  const asked: string[] = []
  const decision = decide(
    gone({
      report: joined,
      fleet(group) {
        asked.push(group)
        return fleet()
      },
    }),
  )
  t.same(asked, [''])
  t.match(decision.deletion, { group: '' })
  t.match(decide(gone()).deletion, { group: boundVM().vCenterInstanceUUID })
})

t.test('whoever says that it has no agent keeps no level by that', async (t) => {
  const facts = settled()
  const spoken = report({ ...facts.report, spec: { ok: true, value: agentlessReport(facts.node) } })
  t.match(decide({ ...facts, report: spoken }).refusal, { condition: 'VMFound', reason: 'NoReport' })
})

t.test('a machine that took the Node over is remembered as it was seen, and keeps it', async (t) => {
  const named = vm({ moref: 'vm-7', biosUUID: OTHER_UUID, instanceUUID: '', name: 'rebuilt' })
  const facts = takenOver()
  const lookups = [
    ...settled({ vms: [] }).lookups,
    { vCenter: 'vc1', uuid: OTHER_UUID, lookup: { state: 'answered', vms: [named] } } as const,
  ]
  const { identityLevel: _, ...unverified } = facts.report?.status ?? {}
  const ended = { ...facts, report: { ...report({ ...facts.report }), status: unverified }, lookups }
  const decision = decide(ended)
  t.match(decision.status?.namedVM, { moref: 'vm-7', parents: [{ name: 'vm' }, {}, {}, {}] })
  t.match(decision.status?.vm, { moref: 'vm-42' }, 'beside the one that it was verified to be')
  t.equal(decision.probePlan?.missing, undefined, 'it is not missing')

  const later = after(ended, decision)
  const silent = {
    ...later,
    lookups: [...settled({ vms: [] }).lookups, { vCenter: 'vc1', uuid: OTHER_UUID, lookup: NO_VM }],
  }
  const request = decide({ ...silent, evidence: undefined }).probePlan?.request
  t.match(request, { vm: { moref: 'vm-42' }, others: [{ moref: 'vm-7' }] }, 'both are asked about')
  const others = request?.others ?? []
  const found = [probe({ moref: { state: 'found', vm: seenVM({ moref: 'vm-7', name: 'rebuilt' }) } })]
  const exists = decide({ ...silent, evidence: absence(silent, { others, othersProbes: found }) })
  t.equal(exists.deletion, undefined)
  t.match(pending(exists), { status: 'False', reason: 'VMExists', message: /"rebuilt" \(vm-7/ })
  t.ok(decide({ ...silent, evidence: absence(silent, { others }) }).deletion, 'when both are gone, it goes')
})

t.test('a VM that was given another BIOS UUID is gone when it is gone under both', async (t) => {
  const changed = vm({ biosUUID: OTHER_UUID })
  const facts = takenOver({}, lifecycle.absentFor)
  const { identityLevel: _, ...unverified } = facts.report?.status ?? {}
  const shown = { vCenter: 'vc1', uuid: OTHER_UUID, lookup: { state: 'answered', vms: [changed] } } as const
  const ended = {
    ...facts,
    report: { ...report({ ...facts.report }), status: unverified },
    lookups: [...settled({ vms: [] }).lookups, shown],
  }
  const decision = decide(ended)
  t.match(decision.status, { vm: { biosUUID: BIOS_UUID }, namedVM: { moref: 'vm-42', biosUUID: OTHER_UUID } })
  const silent = { ...after(ended, decision), lookups: facts.lookups }
  const { vm: bound, others } = decide({ ...silent, evidence: undefined }).probePlan?.request ?? {}
  t.match([bound, ...(others ?? [])], [{ biosUUID: BIOS_UUID }, { biosUUID: OTHER_UUID, moref: 'vm-42' }])
  t.ok(decide({ ...silent, evidence: absence(silent, { others: others ?? [] }) }).deletion)

  const earlier = { ...unverified, namedVM: boundVM({ moref: 'vm-7', instanceUUID: '', biosUUID: NOBODY }) }
  const kept = decide({ ...ended, report: { ...report({ ...facts.report }), status: earlier } })
  t.match(kept.status?.namedVM ?? earlier.namedVM, { moref: 'vm-7' }, 'it takes no other machine’s place')
})

t.test('a Node that is Ready again is not left out of service', async (t) => {
  const others = { ...OUT_OF_SERVICE, value: 'nodeshutdown' }
  const taints = [OUT_OF_SERVICE, others]
  const copy = vm({ moref: 'vm-7', instanceUUID: OTHER_UUID })
  const { status = {} } = settled().report ?? {}
  const invalid = { ok: false, problems: ['it is not what it was'] } as const
  const known = migrated()
  const away = { state: 'unknown', failure } as const
  const hostAway = vm({ connectionState: 'disconnected', powerState: 'poweredOff' })
  for (const [what, facts] of [
    ['its VM is missing', settled({ vms: [] })],
    [
      'vCenter cannot be asked',
      { ...settled(), lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: away }] },
    ],
    ['its host is away, where it was off', settled({ vms: [hostAway] })],
    ['another VM has its UUID', { ...settled({ vms: [copy] }), report: report({ spec: invalid, status }) }],
    ['it was never verified, and is missing', known],
    [
      'it was never verified, and is there',
      {
        ...known,
        lookups: known.lookups.map(
          (each) => ({ ...each, lookup: { state: 'answered', vms: [copy] } }) as const,
        ),
      },
    ],
  ] as const) {
    const taintsOf = (status: string) => {
      const ready = { status, lastHeartbeatTime: '2026-01-01T00:00:00Z' }
      return decide({ ...facts, node: { ...facts.node, taints, ready } }).patch?.taints
    }
    t.strictSame(taintsOf('True'), [others], what)
    t.equal(taintsOf('Unknown'), undefined, `${what}, and its kubelet is silent`)
  }
})

t.test('a Node that is Ready again while its VM is still shown off', async (t) => {
  const facts = settled({ vms: [vm({ powerState: 'poweredOff' })] })
  const taintsOf = (...taints: readonly Taint[]) => {
    const ready = { status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }
    return decide({ ...facts, node: { ...facts.node, taints, ready } }).patch?.taints
  }
  t.strictSame(taintsOf(OUT_OF_SERVICE), [SHUTDOWN], 'it gets the one taint and loses the other')
  t.strictSame(taintsOf(OUT_OF_SERVICE, SHUTDOWN), [SHUTDOWN])
  t.equal(taintsOf(SHUTDOWN), undefined)
})

t.test('what was not verified, or is contradicted, deletes nothing', async (t) => {
  const { identityLevel: _, ...unverified } = gone().report?.status ?? {}
  const bare = decide({ ...gone(), report: report({ status: { ...unverified, vm: undefined } as object }) })
  t.equal(bare.deletion, undefined, 'one that was never bound is known by its provider ID alone')
  const former = decide({
    ...gone(),
    report: report({ status: { ...gone().report?.status, nodeUID: 'former' } }),
  })
  t.equal(former.deletion, undefined, 'it is about another Node of this name')
  const foreign = gone()
  const contradicted = decide({ ...foreign, node: { ...foreign.node, providerID: 'kubemark://x' } })
  t.equal(contradicted.deletion, undefined)
  t.ok(
    decide(gone({ report: report({ ...gone().report, spec: { ok: false, problems: ['spec: none'] } }) }))
      .deletion,
  )
})

t.test('whose VM it is, does not rest on what the report says now', async (t) => {
  t.equal(decide(gone({ evidence: absence(gone(), { vm: boundVM({ moref: 'vm-1' }) }) })).deletion, undefined)
  t.equal(facts().report?.status.vm, undefined)
})

t.test(
  'while some answers are missing a Node goes before those that have none, and those that have all',
  async (t) => {
    const { confirmations, absentFor } = lifecycle
    const evidence = (times: number, over = absentFor) => absence(gone(), { times, absentFor: over })
    t.equal(isPartlyConfirmed(undefined, lifecycle), false)
    t.equal(isPartlyConfirmed({ ...evidence(1), absent: undefined }, lifecycle), false)
    t.equal(isPartlyConfirmed(evidence(1, 0), lifecycle), true)
    t.equal(isPartlyConfirmed(evidence(confirmations - 1), lifecycle), true)
    t.equal(isPartlyConfirmed(evidence(confirmations, absentFor - 1), lifecycle), true)
    t.equal(isPartlyConfirmed(evidence(confirmations), lifecycle), false)
  },
)
