import t from 'tap'
import {
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
} from '../../../../../test/fixtures/facts.ts'
import { failure, gone, NO_VM, OTHER_UUID, pending, settings } from '../../../../../test/fixtures/gone.ts'
import { absence, answered, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import type { Decision } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'

const { lifecycle } = SETTINGS
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
