import t from 'tap'
import {
  after,
  at,
  BIOS_UUID,
  boundVM,
  decide,
  facts,
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
  pending,
  takenOver,
  unready,
} from '../../../../../test/fixtures/gone.ts'
import { absence, answered, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import { migrated } from '../../../../../test/fixtures/unseen.ts'
import type { VCenterProbe } from '../../../../types/inventory.ts'
import type { Taint } from '../../../../types/node.ts'
import { agentlessReport } from '../../facts/previous-status.ts'
import { PROOFS } from './absence-proofs.ts'
import { isPartlyConfirmed, PRECONDITIONS } from './deletion-preconditions.ts'
import { OUT_OF_SERVICE } from './out-of-service.ts'
import { SHUTDOWN } from './shutdown-taint.ts'

const { lifecycle } = SETTINGS
const NOBODY = '420e3f74-ea84-f9a2-7736-6106bb5dbf6d'
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
