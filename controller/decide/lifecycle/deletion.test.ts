import t from 'tap'
import type { Condition } from '../../../agent/contract.ts'
import {
  BIOS_UUID,
  boundVM,
  facts,
  NOW,
  node,
  report,
  SETTINGS,
  settled,
  spec,
  vm,
} from '../../../test/fixtures/facts.ts'
import { absence, answered, probe, seenVM } from '../../../test/fixtures/probes.ts'
import type { Probe } from '../../facts/existence.ts'
import type { LifecycleSettings } from '../../facts/settings.ts'
import { decide } from '../decide.ts'
import type { Decision } from '../decision.ts'
import type { NodeFacts } from '../facts.ts'
import { PRECONDITIONS } from './preconditions.ts'
import { PROOFS } from './proofs.ts'

const { lifecycle } = SETTINGS
const unready = node({ taints: [], ready: { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:59:55Z' } })
const OTHER_UUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6c'
const NO_VM = { state: 'answered', vms: [] } as const
const failure = { vCenter: 'vc1', reason: 'NoPermission', message: 'it may not be read' }

/** A Node whose VM is gone beyond doubt, but for what is changed. */
function gone(changes: Partial<NodeFacts> = {}): NodeFacts {
  const before = settled({ vms: [] })
  const { providerID, labels } = before.node
  return {
    ...before,
    node: { ...unready, providerID, labels },
    ...changes,
    ...(changes.node === undefined ? {} : { node: { ...changes.node, providerID, labels } }),
    evidence:
      'evidence' in changes
        ? changes.evidence
        : absence({ ...before, now: changes.now ?? before.now, node: unready }),
  }
}

function settings(changes: Partial<LifecycleSettings>): Partial<NodeFacts> {
  return { settings: { ...SETTINGS, lifecycle: { ...lifecycle, ...changes } } }
}

function pending(decision: Decision): Condition | undefined {
  return decision.status?.conditions?.find(({ type }) => type === 'DeletionPending')
}

t.test('a Node whose VM is gone beyond doubt is deleted', async (t) => {
  const decision = decide(gone())
  t.match(decision.deletion, {
    vCenter: 'vc1',
    announcement: { reason: 'NodeDeleted', message: /vm-42.*gone/ },
  })
  t.notOk(
    decision.announcements.some(({ reason }) => reason === 'VMGone'),
    'one Event is enough: that it is deleted',
  )
  t.equal(decision.fenced, true)
  t.equal(decision.patch, undefined, 'what is deleted is not patched')
  t.equal(decision.inquiry?.missed, false, 'from now on it counts among the deleted alone')
  t.match(pending(decision), { status: 'True', reason: 'VMGone' })
})

/** For each precondition, facts that lack it alone. */
const LACKING: Record<string, [Partial<NodeFacts>, string]> = {
  OwnVCenterAnswers: [answered([probe({ vCenterInstanceUUID: 'another' })]), 'VCenterOfBindingMissing'],
  ReferenceNotFound: [answered([probe({ reference: { state: 'found', vm: seenVM() } })]), 'VMExists'],
  InstanceUUIDNowhere: [answered([probe({ instanceUUID: { state: 'unknown', failure } })]), 'NoPermission'],
  BIOSUUIDNowhere: [
    answered([
      probe(),
      probe({ vCenter: 'vc2', vCenterInstanceUUID: 'two', biosUUID: { state: 'found', vm: seenVM() } }),
    ]),
    'VMExists',
  ],
  PrivilegesProven: [
    answered([
      probe({ privileges: { state: 'unproven', failure: { ...failure, reason: 'PrivilegeMissing' } } }),
    ]),
    'PrivilegeMissing',
  ],
  CanaryFound: [
    answered([probe({ canary: { state: 'unproven', failure: { ...failure, reason: 'CanaryNotFound' } } })]),
    'CanaryNotFound',
  ],
  DeletionOn: [settings({ deletion: 'off' }), 'DeletionOff'],
  NotHeld: [{ node: { ...unready, deletion: 'hold' } }, 'DeletionHeld'],
  BrakeOpen: [{ fleet: () => ({ bound: 10, missed: 2, braked: 0, deletedAgo: [] }) }, 'BrakeClosed'],
  NodeNotReady: [
    { node: { ...unready, ready: { status: 'True', lastHeartbeatTime: '2026-03-01T09:59:55Z' } } },
    'NodeReady',
  ],
  ReportIsOfThisVM: [
    {
      report: report({
        ...settled().report,
        spec: { ok: true, spec: spec({ machine: { serialUUID: OTHER_UUID } }) },
      }),
      lookups: [...settled({ vms: [] }).lookups, { vCenter: 'vc1', uuid: OTHER_UUID, lookup: NO_VM }],
    },
    'ReportOfAnotherVM',
  ],
  NoLifeSign: [
    { node: { ...unready, ready: { status: 'Unknown', lastHeartbeatTime: '2026-03-01T10:00:00Z' } } },
    'SignOfLife',
  ],
  LeaderSettled: [{ leadingFor: lifecycle.leaderAge - 1 }, 'LeaderTooYoung'],
  Confirmed: [{ evidence: absence(gone(), { times: lifecycle.confirmations - 1 }) }, 'NotConfirmed'],
  ConfirmedJustNow: [{ evidence: absence(gone(), { ago: 10_001 }) }, 'NotConfirmed'],
  VolumesDetached: [
    { ...settings({ waitForVolumes: 3_600_000 }), evidence: absence(gone(), { attachments: 2 }) },
    'VolumesAttached',
  ],
  RateAllows: [
    { fleet: () => ({ bound: 1000, missed: 0, braked: 0, deletedAgo: Array(10).fill(59_999) }) },
    'RateLimited',
  ],
  KubeletSilent: [{ evidence: absence(gone(), { beats: true }) }, 'SignOfLife'],
  NotRefused: [{ deletionRefused: 'admission webhook "w" denied the request' }, 'DeletionRefused'],
  NotDryRun: [settings({ deletion: 'dry-run' }), 'DryRun'],
}

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
    t.ok(decision.inquiry !== undefined, `${name}: it goes on being watched`)
    t.ok(
      decision.inquiry?.ask === true || (decision.again ?? Number.NaN) > 0,
      `${name}: there is a next look`,
    )
    const again = decide({
      ...gone(changes),
      report: report({ ...gone(changes).report, status: decision.status ?? {} }),
    })
    t.same(again.announcements, [], `${name} is said once`)
    t.same(again.status, decision.status, `${name} is written once`)
  }
})

t.test('the condition tells what is known of the VM', async (t) => {
  t.match(pending(decide(gone({ evidence: undefined }))), { status: 'Unknown', reason: 'NotConfirmed' })
  t.match(pending(decide(gone(LACKING.ReferenceNotFound?.[0]))), { status: 'False', reason: 'VMExists' })
  t.match(pending(decide(gone(LACKING.PrivilegesProven?.[0]))), { status: 'Unknown' })
  t.match(pending(decide(gone(LACKING.NodeNotReady?.[0]))), { status: 'True', message: /unregistered/ })
  const two = decide(gone({ leadingFor: 0, node: { ...unready, deletion: 'hold' } }))
  t.match(pending(two)?.message, /hold.*has to lead/, 'all that is missing is listed')
  const unknown = { state: 'unknown', failure } as const
  const silent = decide(
    gone(answered([probe({ reference: unknown, instanceUUID: unknown, biosUUID: unknown })])),
  )
  t.equal(pending(silent)?.message.split(failure.message).length, 2, 'one cause is told once')
})

t.test('an annotation that is neither holds the Node too, and is not repeated', async (t) => {
  const decision = decide(gone({ node: { ...unready, deletion: 'procede' } }))
  t.equal(decision.deletion, undefined)
  t.match(pending(decision), { reason: 'DeletionHeld', message: /7 characters/ })
  t.notMatch(pending(decision)?.message, /procede/)
})

t.test('the brake stays closed until a person opens it, or the VM is back', async (t) => {
  const many = { fleet: () => ({ bound: 10, missed: 4, braked: 0, deletedAgo: [] }) }
  const closed = decide(gone(many))
  t.equal(closed.status?.brakeClosedAt, '2026-03-01T10:00:00Z')
  t.equal(closed.inquiry?.braked, true)

  const alone = gone({ now: NOW + 3_600_000 })
  const remembered = { ...alone, report: report({ ...alone.report, status: closed.status ?? {} }) }
  const still = decide(remembered)
  t.equal(still.deletion, undefined, 'the others are back, and this one is not')
  t.equal(still.status?.brakeClosedAt, '2026-03-01T10:00:00Z')

  const other = decide(gone({ fleet: () => ({ bound: 10, missed: 1, braked: 1, deletedAgo: [] }) }))
  t.equal(other.deletion, undefined, 'it holds for the whole vCenter')

  const leave = { ...remembered, node: { ...remembered.node, deletion: 'proceed' } }
  const opened = decide(leave)
  t.ok(opened.deletion, 'a person lets it go')
  t.equal(opened.inquiry?.braked, false)
  t.equal(
    opened.status?.brakeClosedAt,
    '2026-03-01T10:00:00Z',
    'and holds for this Node if the leave is taken back',
  )

  const found = answered([probe({ reference: { state: 'found', vm: seenVM() } })])
  t.equal(
    decide({ ...leave, ...found }).status?.brakeClosedAt,
    '2026-03-01T10:00:00Z',
    'a glance does not open it',
  )

  const back = decide({ ...leave, lookups: settled().lookups })
  t.equal(back.status?.brakeClosedAt, undefined)
  t.match(pending(back), { status: 'False', reason: 'VMExists' })
  t.match(back.patch, { annotations: { 'rollcall.dev/deletion': null } }, 'the leave was for that time')
  t.match(back.announcements, [
    { type: 'Normal', reason: 'VMExists' },
    { type: 'Normal', reason: 'LeaveTakenBack' },
  ])
})

t.test('a fleet that grows or shrinks changes no word of what the brake holds', async (t) => {
  const fleet = (bound: number) => ({ fleet: () => ({ bound, missed: bound, braked: 1, deletedAgo: [] }) })
  t.match(pending(decide(gone(fleet(10)))), { reason: 'BrakeClosed' })
  t.equal(pending(decide(gone(fleet(10))))?.message, pending(decide(gone(fleet(11))))?.message)
})

t.test('a vCenter that empties by and by closes the brake too', async (t) => {
  const fleet = (...deletedAgo: number[]) => ({
    fleet: () => ({ bound: 10, missed: 0, braked: 0, deletedAgo }),
  })
  t.ok(decide(gone(fleet(100_000))).deletion)
  t.match(pending(decide(gone(fleet(100_000, 200_000)))), { reason: 'BrakeClosed' })
  t.ok(
    decide(gone(fleet(2 * lifecycle.absentFor, 2 * lifecycle.absentFor))).deletion,
    'that was another time',
  )
})

t.test('a VM with its UUID that is not the one it was is no absence', async (t) => {
  const other = vm({
    reference: 'vm-9',
    instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    ancestry: undefined,
  })
  const lookups = settled({ vms: [other] }).lookups
  const decision = decide(gone({ lookups }))
  t.equal(decision.deletion, undefined)
  t.match(pending(decision), { status: 'Unknown', reason: 'UUIDOfAnotherVM' })
  t.equal(decision.inquiry, undefined)
  t.equal(decide(gone({ lookups: [] })).deletion, undefined, 'nobody was asked')
})

t.test('answers that come late count, and old ones do not', async (t) => {
  const slow = { ...absence(gone()), askedAt: gone().uptime - 40_000 }
  t.ok(decide(gone({ evidence: slow })).deletion, 'one answer took long')
  for (const [clock, answeredAt] of Object.entries({
    uptime: { uptime: gone().uptime - 10_001, now: NOW },
    'the wall': { uptime: gone().uptime, now: NOW - 10_001 },
    'the wall, set back': { uptime: gone().uptime, now: NOW + 10_001 },
  })) {
    const decision = decide(gone({ evidence: { ...absence(gone()), answeredAt } }))
    t.equal(decision.deletion, undefined, clock)
    t.equal(decision.inquiry?.ask, true, clock)
  }
})

t.test('who gets the same answer again and again asks less often', async (t) => {
  const probes = [probe({ canary: { state: 'unproven', failure } })]
  const unproven = (n: number, ago: number) =>
    decide(gone({ evidence: { ...absence(gone(), { probes, ago }), absent: undefined, unproven: n } }))
  t.same(
    [1, 2, 3, 9].map((n) => unproven(n, 0).again),
    [30_000, 60_000, 60_000, 60_000],
    'and looks every minute',
  )
  t.same(
    [unproven(1, 30_000), unproven(4, 239_999), unproven(4, 240_000), unproven(40, 240_000)].map(
      ({ inquiry }) => inquiry?.ask,
    ),
    [true, false, true, true],
  )
  t.same(unproven(4, 0).recheck, [], 'and does not search besides')
  const lease = { ...absence(gone()), absent: undefined, heartbeat: undefined, unproven: 1 }
  t.equal(decide(gone({ evidence: lease })).inquiry?.ask, false, 'a Lease that cannot be read, too')
})

t.test('who waits for something else is asked about seldom, and searched for', async (t) => {
  const held = (ago: number) =>
    decide(gone({ evidence: absence(gone(), { ago }), node: { ...unready, deletion: 'hold' } }))
  t.equal(held(599_999).inquiry?.ask, false)
  t.same(held(599_999).recheck, [BIOS_UUID], 'it may be back')
  t.equal(held(599_999).again, 1)
  t.equal(held(100_000).again, 60_000)
  t.equal(held(600_000).inquiry?.ask, true)
  t.equal(
    decide(gone({ evidence: absence(gone(), { ago: 11_000 }) })).inquiry?.ask,
    true,
    'the last answer is old',
  )
})

t.test('that the brake closes is told, whatever the condition has to say first', async (t) => {
  const many = { fleet: () => ({ bound: 10, missed: 4, braked: 0, deletedAgo: [] }) }
  const told = (decision: Decision) =>
    decision.announcements.filter(({ reason }) => reason === 'BrakeClosed').length
  for (const changes of [
    { evidence: undefined },
    answered([probe({ canary: { state: 'unproven', failure } })]),
    {},
  ]) {
    const decision = decide(gone({ ...many, ...changes }))
    t.equal(told(decision), 1)
    const again = {
      ...gone({ ...many, ...changes }),
      report: report({ ...gone().report, status: decision.status ?? {} }),
    }
    t.equal(told(decide(again)), 0, 'once')
  }
})

t.test('a vCenter that does not answer is said of silent Nodes alone', async (t) => {
  const lookups = settled().lookups.map((each) => ({
    ...each,
    lookup: { state: 'unknown', failure } as const,
  }))
  const silent = decide(gone({ lookups }))
  t.match(pending(silent), { status: 'Unknown', reason: 'NoPermission' })
  t.equal(silent.inquiry, undefined)
  t.equal(decide(settled({ lookups })).status, undefined)
})

t.test(
  'a VM that was registered again is bound by its new reference, though no search by BIOS UUID finds it',
  async (t) => {
    const found = { state: 'found', vm: seenVM({ reference: 'vm-99', biosUUID: OTHER_UUID }) } as const
    const registered = (changes: Partial<Probe>) =>
      decide(gone(answered([probe({ instanceUUID: found, ...changes })]))).status?.vm?.moref
    t.equal(registered({}), 'vm-99')
    t.equal(registered({ reference: found }), 'vm-42', 'the one that it had still answers')
    t.equal(registered({ vCenterInstanceUUID: 'another' }), 'vm-42', 'that is another vCenter')
    const elsewhere = { state: 'found', vm: seenVM({ reference: 'vm-98' }) } as const
    t.equal(
      registered({ instanceUUID: { state: 'not-found' }, biosUUID: elsewhere }),
      'vm-42',
      'a BIOS UUID may be copied',
    )
  },
)

t.test('what the report names is searched for, though the VM before is asked about on purpose', async (t) => {
  const [changes] = LACKING.ReportIsOfThisVM ?? []
  t.same(decide(gone({ ...changes, evidence: undefined })).recheck, [OTHER_UUID])
  t.same(decide(gone({ evidence: undefined })).recheck, [])
})

t.test('a Node whose VM went to another vCenter is bound to it there', async (t) => {
  const there = vm({
    vCenter: { name: 'vc2', instanceUUID: 'two' },
    reference: 'vm-7',
    instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  })
  const lookups = [
    ...settled({ vms: [] }).lookups,
    { vCenter: 'vc2', uuid: boundVM().biosUUID, lookup: { state: 'answered', vms: [there] } } as const,
  ]
  const decision = decide(gone({ lookups, evidence: undefined }))
  t.match(decision.status?.vm, { vCenter: 'vc2', moref: 'vm-7' })
  t.equal(pending(decision), undefined)
  t.equal(decision.inquiry, undefined)
})

t.test('what was not verified, or is contradicted, deletes nothing', async (t) => {
  const { identityLevel: _, ...unverified } = gone().report?.status ?? {}
  const memory = decide({ ...gone(), report: report({ status: unverified }) })
  t.equal(memory.deletion, undefined, 'a binding without a level is a memory')
  t.equal(memory.inquiry, undefined)
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
