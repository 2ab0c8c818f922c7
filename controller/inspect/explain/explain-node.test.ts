/** Stories as a leader leaves them: what `decide` says of the facts is what is explained. */
import t from 'tap'
import {
  after,
  BIOS_UUID,
  decide,
  facts,
  fleet,
  NODE_UID,
  NOW,
  node,
  report,
  SETTINGS,
  settled,
  spec,
  vm,
} from '../../../test/fixtures/facts.ts'
import { gone, LACKING } from '../../../test/fixtures/gone.ts'
import type { NodeFacts } from '../../loops/node/decide/node-facts.ts'
import { decideOnRejectedWrite } from '../../loops/node/decide/rejected-write.ts'
import { planOf } from '../plan/node-plan.ts'
import type { ExplainFacts } from './chain.ts'
import { type Explanation, explainNode, explanationJSON, printExplanation } from './explain-node.ts'

const PREFIX = 'rollcall.node-restriction.kubernetes.io/'
const RENEWED = {
  holder: 'worker-1',
  durationSeconds: 40,
  acquireTime: '',
  renewTime: '2026-03-01T09:59:52.000000Z',
  transitions: 0,
}

function explain(of: Pick<NodeFacts, 'node' | 'report'>, changes: Partial<ExplainFacts> = {}): Explanation {
  return explainNode({
    node: of.node,
    report: of.report,
    reportsRead: true,
    kubelet: RENEWED,
    leader: 'a leads',
    asked: changes.fresh !== undefined,
    fresh: undefined,
    assumed: [],
    unknown: [],
    now: NOW,
    ...changes,
  })
}

/** What one look of the leader's own code at these facts gives. */
function look(before: NodeFacts): ExplainFacts['fresh'] {
  const decision = decide(before)
  const { node, report } = after(before, decision)
  return {
    decision,
    plan: planOf({ before: before.node, after: node, report, decision, settings: before.settings }),
  }
}

const decided = (before: NodeFacts) => after(before, decide(before))
const initialized = () => decided(settled())
const none = [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [] } as const }]
const missing = (changes: Partial<NodeFacts> = {}) => {
  const { node, report } = initialized()
  const silent = { ...node, ready: { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:50:00Z' } }
  return facts({ node: silent, report, lookups: none, ...changes })
}
const step = ({ chain }: Explanation, name: string) => chain.find((each) => each.name === name)
const item = ({ deletion }: Explanation, name: string) => deletion?.find((each) => each.name === name)

/** With the condition DeletionPending as it is here, and what the leader found unmet. */
function pending(
  status: 'True' | 'Unknown' | 'False',
  reason: string,
  message: string,
  deletionUnmet: readonly string[] = [],
) {
  const before = missing()
  const { report: of } = decided(before)
  const conditions = (of?.status.conditions ?? []).map((each) =>
    each.type === 'DeletionPending' ? { ...each, status, reason, message } : each,
  )
  return { node: before.node, report: of && { ...of, status: { ...of.status, conditions, deletionUnmet } } }
}

t.test('a verified Node: every link holds, and what would change that', async (t) => {
  const found = explain(initialized())
  t.equal(found.summary, 'is initialized as VM "worker-1" of vCenter vc1, identity proven')
  t.ok(found.chain.every(({ state }) => state === 'ok'))
  t.match(step(found, 'kubelet'), { says: ['renewed its Lease 8s ago'] })
  t.match(step(found, 'report')?.says, [
    /of agent 0\.1\.0, 5s ago: BIOS UUID 420e3f74-.*, MACs 00:50:56:8e:00:01/,
  ])
  t.match(step(found, 'VM')?.says, [
    /^VMFound: BIOS UUID/,
    /^last seen as VM "worker-1" \(vm-42\) in vCenter vc1, datacenter DC0, cluster cluster-a, host esx-1$/,
  ])
  t.equal(found.deletion, undefined)
  t.match(found.changes, [/powered off/, /the Node is deleted/])
})

t.test('labels by rule: what each is, and why one is not', async (t) => {
  const rules = [
    { label: `${PREFIX}host`, from: { kind: 'host' }, map: new Map(), when: 'live' },
    { label: `${PREFIX}owner`, from: { kind: 'attribute', name: 'Owner' }, map: new Map(), when: 'live' },
  ] as const
  const labelled = (labelRules: (typeof rules)[number][]) =>
    step(explain(decided(settled({ settings: { ...SETTINGS, labelRules } }))), 'labels')
  t.equal(labelled([]), undefined, 'nothing is said without rules')
  t.match(labelled([rules[0]]), { state: 'ok', says: [/^Resolved: \S+\/host is esx-1 \(/] })
  t.match(labelled([...rules]), {
    state: 'unknown',
    says: [/^LabelUnreadable: \S+\/owner is not written: custom attributes are not read yet \(/],
  })
})

t.test('no report', async (t) => {
  const found = explain({ node: node(), report: undefined })
  t.match(found.summary, /^waits for a cloud provider: there is no NodeReport/)
  t.match(step(found, 'report'), { state: 'no' })
  t.match(found.changes, [/field-selector spec\.nodeName=worker-1/])
})

t.test(
  'a report of a former Node, an invalid one, one of the controller, one that is not decided on',
  async (t) => {
    const former = { ok: true, value: spec({ nodeUID: NODE_UID.replace('1', '2') }) } as const
    t.match(step(explain({ node: node(), report: report({ spec: former }) }), 'report'), {
      state: 'no',
      says: [/./, /about a former Node/],
    })
    const broken = { ok: false, problems: ['spec.machine: expected Object, got nothing'] } as const
    t.match(step(explain({ node: node(), report: report({ spec: broken }) }), 'report')?.says, [
      /spec\.machine/,
    ])
    const agentless = facts().report
    const claim = { written: false, reason: 'NoAgent', message: '' }
    const made = { ...agentless, ...report({ spec: { ok: true, value: spec({ claim }) } }) }
    t.match(step(explain({ node: node(), report: made }), 'report'), { state: 'unknown' })
    t.match(step(explain({ node: node(), report: report() }), 'report')?.says.at(-1), 'no leader has decided')
    const { node: known, report: old } = initialized()
    const newer = old && { ...old, generation: 7 }
    t.match(step(explain({ node: known, report: newer }), 'report')?.says.at(-1), 'it has changed since')
  },
)

t.test('what the agent could not read is told', async (t) => {
  const unreadable = [{ fact: 'machine.serialUUID', reason: 'PermissionDenied', message: 'not root' }]
  const blind = report({ spec: { ok: true, value: spec({ unreadable, machine: {} }) } })
  t.match(step(explain({ node: node(), report: blind }), 'report')?.says, [
    /BIOS UUID not read/,
    /claim is written/,
    'it could not read machine.serialUUID: PermissionDenied: not root',
  ])
})

t.test('a refusal is in the words of the leader, with the reason in the summary', async (t) => {
  const found = explain(decided(facts({ vms: [vm({ nics: [{ mac: '00:50:56:00:00:99' }] })] })))
  t.equal(found.summary, 'waits for a cloud provider: MACsContradict')
  t.match(step(found, 'identity'), { state: 'no', says: [/^MACsContradict: /] })
  t.match(found.changes, ['what to do about MACsContradict: docs/reasons.md', /within five minutes/])
})

t.test('a CPI that handles Nodes', async (t) => {
  const found = explain(decided(facts({ interlock: { state: 'held', message: 'stop the CPI' } })))
  t.equal(found.summary, 'waits for a cloud provider: CPIRuns')
  t.match(step(found, 'identity'), { state: 'ok' })
  t.match(step(found, 'initialized'), { state: 'no', says: [/^CPIRuns: stop the CPI/] })
})

t.test('a VM that is missing: by the leader alone, the proofs are not known one by one', async (t) => {
  const found = explain(decided(missing()))
  t.equal(found.summary, 'is kept, as it is unknown whether its VM is gone: NotConfirmed')
  t.match(step(found, 'deletion'), { state: 'unknown' })
  t.match(item(found, 'CanaryFound'), { state: 'unknown', why: /--config/ })
  t.match(item(found, 'NodeNotReady'), { state: 'ok' })
  t.match(item(found, 'Confirmed'), { state: 'unknown', why: 'only the leader knows' })
  t.match(item(found, 'NotDryRun'), { state: 'unknown', why: /--config/ })
  t.match(found.changes, [/./, /annotate node worker-1 rollcall\.dev\/deletion=hold/, /delete node worker-1/])
})

t.test('vCenter was asked, and nothing was probed', async (t) => {
  const back = initialized()
  const found = [
    explain(decided(missing()), { asked: true }),
    explain(decided(missing()), { fresh: look(facts({ node: back.node, report: back.report })) }),
  ]
  for (const each of found)
    for (const name of ['CanaryFound', 'NotDryRun'])
      t.match(item(each, name), { state: 'unknown', why: /^nothing was probed: a vCenter has not answered/ })
})

t.test('a VM that is proven gone: what the leader does not list holds', async (t) => {
  const found = explain(
    pending('True', 'BrakeEngaged', 'the deletion brake is engaged: ...', ['BrakeReleased']),
  )
  t.equal(found.summary, 'is kept for now, although its VM is gone: BrakeEngaged')
  t.match(step(found, 'deletion'), { state: 'no' })
  for (const name of ['CanaryFound', 'BIOSUUIDNowhere', 'DeletionOn', 'SeenOrWanted', 'LeaderSettled'])
    t.match(item(found, name), { state: 'ok' }, name)
  t.match(item(found, 'BrakeReleased'), { state: 'no', why: /BrakeEngaged/ })
  t.match(item(found, 'ConfirmedJustNow'), { state: 'unknown', why: 'only the leader knows' })
  t.match(item(found, 'OthersCounted'), { state: 'unknown' }, 'it was not tried')
  const undecided = explain(
    pending('True', 'NotConfirmed', 'it takes 3 ...', ['Confirmed', 'RateAllows', 'BrakeReleased']),
  )
  t.match(item(undecided, 'Confirmed'), { state: 'no', why: 'NotConfirmed, as the leader says above' })
  for (const name of ['BrakeReleased', 'RateAllows'])
    t.match(item(undecided, name), { state: 'no', why: 'as the leader says above' }, name)
  t.ok(explain(pending('True', 'VMGone', '')).deletion?.every(({ state }) => state === 'ok'))
  t.equal(explain(pending('False', 'VMExists', 'it is there')).deletion, undefined)
})

/** Where explain says of a precondition what the leader did not find. */
function contradictions(before: NodeFacts): readonly string[] {
  const decision = decide(before)
  const unmet = decision.deletionUnmet?.map(({ name }) => name) ?? []
  const { deletion = [] } = explain(after(before, decision))
  return deletion.flatMap(({ name, state, why }) =>
    state === 'unknown' || (state === 'no') === unmet.includes(name) ? [] : [`${name}: ${state} (${why})`],
  )
}

t.test('each precondition that is unmet alone is said to be, with the reason', async (t) => {
  for (const [name, [changes, reason]] of Object.entries(LACKING)) {
    const before = gone(changes)
    t.same(contradictions(before), [], name)
    // Of a VM that is found nothing is missing: the Node is kept.
    if (reason === 'VMExists') continue
    const found = explain(after(before, decide(before)))
    t.match(item(found, name), { state: 'no', why: /./ }, name)
    const others = found.deletion?.filter((each) => each.state === 'no' && each.name !== name)
    t.same(others, [], `${name} alone`)
  }
})

t.test('of several that are unmet together none is said to hold', async (t) => {
  const rows = Object.entries(LACKING)
  let pairs = 0
  for (const [index, [one, [changes]]] of rows.entries())
    for (const [other, [more]] of rows.slice(index + 1)) {
      // Two that change the same fact do not go together.
      if (Object.keys(changes).some((key) => Object.hasOwn(more, key))) continue
      pairs++
      t.same(contradictions(gone({ ...changes, ...more })), [], `${one} and ${other}`)
    }
  t.ok(pairs > 100)
  // A brake that has not engaged comes last, so the reason is of what comes after it in the list of preconditions.
  const uncertain = () => fleet({ pendingSince: Array(4).fill(facts().monotonic) })
  const undecided = gone({ fleet: uncertain, leadingFor: 0 })
  t.same(contradictions(undecided), [])
  t.match(item(explain(after(undecided, decide(undecided))), 'BrakeReleased'), {
    state: 'no',
    why: 'as the leader says above',
  })
})

t.test('what the cluster shows decides on the annotation and on Ready', async (t) => {
  const kept = pending('True', 'DeletionHeld', '')
  const held = explain({ ...kept, node: { ...kept.node, deletionAnnotation: 'hold' } })
  t.match(item(held, 'NotHeld'), { state: 'no', why: /rollcall\.dev\/deletion=hold keeps it/ })
  const ready = { status: 'True', lastHeartbeatTime: '' }
  t.match(item(explain({ ...kept, node: { ...kept.node, ready } }), 'NodeNotReady'), { state: 'no' })
})

t.test('one look at vCenter answers for each proof, and for no more than that', async (t) => {
  const kept = pending('True', 'NotConfirmed', 'all other VMs are read again first', ['OthersRead'])
  const lacks = (names: readonly string[]) => {
    const fresh = look(missing())
    const deletionUnmet = names.map(
      (name) => ({ name, reason: 'NotConfirmed', message: `${name} lacks` }) as const,
    )
    return fresh && { ...fresh, decision: fresh.decision && { ...fresh.decision, deletionUnmet } }
  }
  const found = explain(kept, { fresh: lacks(['PrivilegesProven', 'DeletionOn', 'Confirmed']) })
  t.match(item(found, 'PrivilegesProven'), { state: 'no', why: 'PrivilegesProven lacks' })
  t.match(item(found, 'CanaryFound'), { state: 'ok' })
  t.match(item(found, 'DeletionOn'), { state: 'no' })
  t.match(item(found, 'Confirmed'), { state: 'ok' }, 'a first look never confirms, and the leader had more')
  t.match(item(found, 'KubeletSilent'), { state: 'ok' }, 'the leader says so')
  const said = pending('True', 'NotConfirmed', 'gone, and kept for now: Confirmed lacks', ['Confirmed'])
  t.match(
    item(explain(said, { fresh: lacks(['Confirmed']) }), 'Confirmed'),
    { state: 'no' },
    'the leader, too',
  )
})

t.test('what vCenter says now, where the leader has not written that', async (t) => {
  const before = facts({ node: node(), report: report() })
  const found = explain(before, { fresh: look(before) })
  t.match(step(found, 'VM'), { state: 'unknown', says: [/^asked now: VMFound: /] })
  t.match(
    step(found, 'plan')?.says.join('\n'),
    /would set providerID: vsphere:\/\/[\s\S]*would remove taints/,
  )
  const steady = initialized()
  const same = explain(steady, { fresh: look(facts({ node: steady.node, report: steady.report })) })
  t.match(step(same, 'plan')?.says, ['would change nothing'])
  t.notMatch(JSON.stringify(same), 'asked now')
})

t.test('what only the leader can know is not contradicted', async (t) => {
  const { node: known, report: of } = initialized()
  const conditions = (of?.status.conditions ?? []).map((each) =>
    each.type === 'Initialized' ? { ...each, status: 'False' as const, reason: 'NodePatchRefused' } : each,
  )
  const refused = { node: known, report: of && { ...of, status: { ...of.status, conditions } } }
  t.notMatch(JSON.stringify(explain(refused, { fresh: look(facts(refused)) })), 'asked now')
})

t.test(
  'of a VM that is off without the taint that says so, it is not said that it is taken away',
  async (t) => {
    const off = settled({ vms: [vm({ powerState: 'poweredOff' })] })
    t.match(explain(decided(off)).changes, [/the taints that say it is off are removed/])
    const message = 'denied by a policy'
    const rejected = decideOnRejectedWrite(
      { write: 'node', outcome: 'rejected', message },
      decide(off),
      off,
      0,
    )
    const { report: of } = after(off, rejected)
    t.match(explain({ node: off.node, report: of }).changes, [
      'what to do about NodePatchRefused: docs/reasons.md',
      /^the API server accepts the write: the Node gets the taint/,
    ])
  },
)

t.test('of a Node whose writes are refused it is not said that it would be tainted', async (t) => {
  const before = settled()
  const bare = { ...before, node: { ...before.node, labels: {}, addresses: [] } }
  const rejection = { write: 'node', outcome: 'rejected', message: 'a webhook is down' } as const
  const { report: of } = after(bare, decideOnRejectedWrite(rejection, decide(bare), bare, 0))
  const { changes } = explain({ node: bare.node, report: of })
  t.match(changes, ['what to do about NodePatchRefused: docs/reasons.md'])
  t.match(changes.join('\n'), /^the API server accepts the write; until then the Node might not be tainted/m)
  t.notMatch(changes.join('\n'), /the Node is tainted/)
})

t.test('a Node that Rollcall leaves alone', async (t) => {
  const alone = (labels: Readonly<Record<string, string>>) =>
    explain({ node: node({ taints: [], labels }), report: undefined }).changes[0]
  t.match(alone({}), /^an agent that reports from it; the taint/)
  t.match(alone({ 'kubernetes.io/os': 'windows' }), /^the taint of Nodes/)
})

t.test('what could not be read', async (t) => {
  const found = explain(
    { node: node(), report: undefined },
    {
      reportsRead: false,
      kubelet: 'unread',
      assumed: ['by this file'],
      unknown: ['NodeReports cannot be read: 403'],
    },
  )
  t.match(found.summary, 'NodeReports cannot be read')
  t.equal(step(found, 'report'), undefined)
  t.match(step(found, 'kubelet'), { state: 'unknown' })
  t.match(printExplanation(found), /^! by this file$/m)
  t.match(printExplanation(found), /^! NodeReports cannot be read: 403$/m)
})

t.test('a machine whose clock is wrong is not called silent', async (t) => {
  const { node, report } = initialized()
  const ready = { ...node, ready: { status: 'True', lastHeartbeatTime: '' } as const }
  const at = (renewTime: string) =>
    step(explain({ node: ready, report }, { kubelet: { ...RENEWED, renewTime } }), 'kubelet')
  t.match(at('2026-03-01T09:50:00.000000Z'), {
    state: 'unknown',
    says: [
      /^renewed its Lease at .* by its own clock, which is 10m ago, but the Node is Ready: that clock is/,
    ],
  })
  t.match(at('2026-03-01T10:10:00.000000Z'), {
    state: 'unknown',
    says: [/is minutes ahead of that of the API/],
  })
  const reported = (reportedAt: string, renewTime: string, now: typeof node = ready) =>
    step(
      explain(
        { node: now, report: report && { ...report, reportedAt } },
        { kubelet: { ...RENEWED, renewTime } },
      ),
      'report',
    )?.says[0]
  const wrong = 'the agent and the kubelet have one clock'
  t.match(
    reported('2026-03-01T09:49:00Z', '2026-03-01T09:50:00.000000Z'),
    /of agent 0\.1\.0, 60s ago:/,
    wrong,
  )
  t.match(
    reported('2026-03-01T10:09:00Z', '2026-03-01T10:10:00.000000Z'),
    /of agent 0\.1\.0, 60s ago:/,
    wrong,
  )
  const off = { ...node, ready: { status: 'Unknown', lastHeartbeatTime: '' } } as const
  t.match(
    reported('2026-03-01T09:49:00Z', '2026-03-01T09:50:00.000000Z', off),
    /of agent 0\.1\.0, at 2026-03-01T09:49:00Z by its own clock:/,
    'whether that is right is not known',
  )
  t.match(step(explain({ node, report }, { kubelet: undefined }), 'report')?.says[0], /, 5s ago:/)
  t.match(
    step(explain({ node, report }, { kubelet: 'unread' }), 'report')?.says[0],
    /, at \S+ by its own clock:/,
  )
  const ahead = report && { ...report, reportedAt: '2026-03-01T10:10:00Z' }
  t.match(step(explain({ node, report: ahead }), 'report')?.says, [
    /of agent 0\.1\.0, at 2026-03-01T10:10:00Z by its own clock, which is minutes ahead of that of the API server:/,
  ])
})

t.test('of what a leader wrote whose clock is wrong no age is told', async (t) => {
  const at = '2026-03-01T10:00:00Z'
  const troubles = { at, troubles: [{ key: 'clock', message: 'its clock is off', since: at }] }
  const since = /\(since 2026-03-01T10:00:00Z by the leader's clock\)$/
  t.match(step(explain(initialized(), { troubles }), 'identity')?.says, [since])
  t.match(step(explain(initialized(), { now: NOW - 300_000 }), 'identity')?.says, [since])
  t.match(step(explain(initialized()), 'identity')?.says, [/\(for \d+s\)$/])
})

t.test('a silent kubelet, and one that never ran', async (t) => {
  const silent = { ...RENEWED, renewTime: '2026-03-01T09:50:00.000000Z' }
  const { node, report } = initialized()
  const given = { node: { ...node, ready: { status: 'Unknown', lastHeartbeatTime: '' } }, report } as const
  t.match(step(explain(given, { kubelet: silent }), 'kubelet'), {
    state: 'no',
    says: ['renewed its Lease 10m ago, and has been silent since'],
  })
  t.match(step(explain(initialized(), { kubelet: { ...silent, renewTime: '' } }), 'kubelet'), { state: 'no' })
  t.match(step(explain(given, { kubelet: undefined }), 'kubelet'), {
    state: 'unknown',
    says: [/not run yet/],
  })
  const ready = { ...given.node, ready: { status: 'True', lastHeartbeatTime: '' } } as const
  t.match(step(explain({ node: ready, report }, { kubelet: undefined }), 'kubelet'), {
    state: 'unknown',
    says: [/although the Node is Ready: see the log of its kubelet/],
  })
})

t.test('nothing that strangers wrote controls the terminal', async (t) => {
  const evil = '\u001b]0;x\u0007\u202e\n'
  const { node: known, report: of } = initialized()
  const named = { ...of?.status.vm, name: evil, host: evil } as NonNullable<
    NonNullable<typeof of>['status']['vm']
  >
  const text = printExplanation(
    explain(
      { node: { ...known, providerID: evil }, report: of && { ...of, status: { ...of.status, vm: named } } },
      { unknown: [evil] },
    ),
  )
  t.notMatch(text, /[^\n -~\ufffd]/)
  t.equal(JSON.parse(explanationJSON(explain(initialized()))).node, 'worker-1')
})

t.test('a Node that is being deleted is not said to be kept by anything', async (t) => {
  const { node, report } = pending('True', 'VMGone', 'gone')
  const found = explain({ node: { ...node, deleting: true }, report })
  t.equal(found.summary, 'is being deleted')
  t.equal(found.deletion, undefined)
  t.match(found.changes[0], /^its finalizers are removed/)
  t.notMatch(found.changes.join(), /annotate|delete node|it is kept/)
})

t.test('a Node whose report contradicts what was verified keeps nothing', async (t) => {
  const other = '511e3f74-ea84-f9a2-7736-6106bb5dbf6c'
  const { node, report: former } = initialized()
  const value = spec({ machine: { serialUUID: other } })
  const answered = (uuid: string, vms: readonly ReturnType<typeof vm>[]) =>
    ({ vCenter: 'vc1', uuid, lookup: { state: 'answered', vms } }) as const
  const lookups = [answered(BIOS_UUID, [vm()]), answered(other, [vm({ moref: 'vm-43', biosUUID: other })])]
  const changed = former && { ...former, generation: 2, spec: { ok: true, value } as const }
  const found = explain(decided(facts({ node, report: changed, lookups })))
  t.match(found.summary, /^was verified before as VM .*, identity no longer verified: ProviderIDOfAnotherVM$/)
  t.notMatch(found.changes.join(), /remains valid/)
  t.match(step(found, 'identity')?.says.join(), /another machine reports with this Node's kubeconfig/)
})

t.test('of a leader that does not run, or leaves Nodes alone, it is not said what it would do', async (t) => {
  const told = (of: Pick<NodeFacts, 'node' | 'report'>, changes: Partial<ExplainFacts>) =>
    explain(of, changes).changes.join('\n')
  const wouldDo = /is tainted|the Node is deleted|is removed|are removed|automatically|it is kept/
  const off = decided(settled({ vms: [vm({ powerState: 'poweredOff' })] }))
  const waiting = decided(facts({ vms: [] }))
  const since = '2026-03-01T09:00:00Z'
  const troubles = (stops: string) => ({
    at: since,
    troubles: [{ key: 'k', message: 'vCenter vc1: InvalidLogin', since, stops }],
  })
  for (const each of [initialized(), off, waiting, decided(missing()), { node: node(), report: undefined }]) {
    t.notMatch(told(each, { leads: false }), wouldDo)
    t.match(
      told(each, { leads: false }),
      /a replica of rollcall-controller becomes the leader; until then nothing changes/,
    )
    t.match(
      told(each, { leads: true, troubles: troubles('') }),
      /until then this one does not change the Node/,
    )
  }
  t.match(told(initialized(), { leads: true }), /is tainted/)
  t.match(told(initialized(), { leads: true, troubles: troubles('vc2') }), /is tainted/)
  const unasked = {
    state: 'unknown',
    failure: { vCenter: 'vc1', reason: 'InvalidLogin', message: 'refused' },
  } as const
  const newcomer = decided(facts({ lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: unasked }] }))
  const untilAsked = told(newcomer, { leads: true, troubles: troubles('vc1') })
  t.match(untilAsked, /the leader can ask vCenter vc1 again; until then it is not known whether the VM of/)
  t.notMatch(untilAsked, wouldDo)
  t.match(told(newcomer, { leads: true }), /automatically/)
  t.match(told(waiting, { leads: true, troubles: troubles('vc2') }), /automatically/, 'vc1 has answered')
  const found = explain(initialized(), { leads: true, troubles: troubles('vc1') })
  t.notMatch(found.changes.join(), wouldDo)
  t.match(
    printExplanation(found),
    /^a leads\n! vCenter vc1: InvalidLogin \(since 2026-03-01T09:00:00Z; .*\)$/m,
  )
  const gone = pending('True', 'VMGone', 'gone')
  t.match(explain(gone, { leads: false }).summary, /^is to be deleted by the next leader/)
})
