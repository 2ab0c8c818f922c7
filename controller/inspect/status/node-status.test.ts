/** Each state as a leader leaves it: what `decide` says of the facts is what is read here. */
import t from 'tap'
import {
  after,
  BIOS_UUID,
  boundVM,
  decide,
  facts,
  node,
  report,
  SETTINGS,
  settled,
  spec,
  vm,
} from '../../../test/fixtures/facts.ts'
import type { NodeFacts } from '../../loops/node/decide/node-facts.ts'
import { decideOnRejectedWrite } from '../../loops/node/decide/rejected-write.ts'
import { TAINT_SHUTDOWN, TAINT_UNINITIALIZED } from '../../types/well-known.ts'
import { statusOf } from './node-status.ts'

const of = ({ node, report }: Pick<NodeFacts, 'node' | 'report'>) => statusOf(node, report)
/** After the leader has decided on these facts. */
const decided = (before: NodeFacts) => of(after(before, decide(before)))
const lookups = (...vms: ReturnType<typeof vm>[]) => [
  { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms } as const },
]
const initialized = () => {
  const first = settled()
  return after(first, decide(first))
}

t.test('a verified Node has nothing pending', async (t) => {
  t.same(of(initialized()), {
    name: 'worker-1',
    state: 'initialized',
    pending: undefined,
    level: 'proven',
    vCenter: 'vc1',
    datacenter: 'DC0',
    cluster: 'cluster-a',
    host: 'esx-1',
    vm: 'worker-1',
    power: 'on',
    zone: 'zone-a',
    region: 'region-1',
    ready: 'True',
    agentVersion: '0.1.0',
    brakeEngagedFor: undefined,
  })
})

t.test('a report that says that a VM runs is not believed beside the taint that it is off', async (t) => {
  const { node, report } = initialized()
  const tainted = { ...node, taints: [{ key: TAINT_SHUTDOWN, effect: 'NoSchedule' }] }
  t.match(of({ node: tainted, report }), {
    state: 'initialized',
    power: undefined,
    pending: { condition: undefined, reason: 'NotDecidedYet', message: /the report is old, or the taint is/ },
  })
})

t.test('what a Node waits for is the reason of the leader', async (t) => {
  t.match(decided(facts({ vms: [] })), {
    state: 'waiting',
    pending: { condition: 'Initialized', reason: 'NoVMWithUUID' },
    power: undefined,
  })
  t.match(decided(facts({ interlock: { state: 'held', message: 'a CPI' } })), {
    state: 'waiting',
    pending: { reason: 'CPIRuns', message: 'a CPI' },
  })
})

t.test('without a report, or one that nobody has decided on', async (t) => {
  t.match(statusOf(node(), undefined), { state: 'waiting', pending: { reason: 'NoReport' } })
  t.match(statusOf(node({ taints: [], providerID: 'aws:///i-1' }), undefined), {
    state: 'unmanaged',
    pending: { reason: 'ForeignProviderID' },
  })
  t.match(statusOf(node({ taints: [], providerID: 'vsphere://' }), undefined), {
    state: 'waiting',
    pending: { reason: 'ProviderIDMalformed' },
  })
  t.match(statusOf(node({ taints: [] }), undefined), { state: 'unmanaged', pending: undefined })
  t.match(statusOf(node(), report()), {
    state: 'waiting',
    pending: { reason: 'NotDecidedYet', message: /no leader has decided/ },
  })
  const former = { ok: true, value: spec({ nodeUID: '22222222-2222-4333-8444-555555555555' }) } as const
  t.match(statusOf(node(), report({ spec: former })), { pending: { reason: 'ReportOfFormerNode' } })
  const broken = { ok: false, problems: ['spec.machine: expected Object, got nothing'] } as const
  t.match(statusOf(node(), report({ spec: broken })), { pending: { reason: 'ReportInvalid' } })
})

t.test('what keeps a Node that is being deleted', async (t) => {
  const since = { deleting: true, deletingSince: '2026-03-01T09:00:00Z' }
  const { node, report } = initialized()
  t.match(statusOf({ ...node, ...since, finalizers: ['example.com/x'] }, report), {
    state: 'deleting',
    pending: {
      reason: 'FinalizersRemain',
      message: /its finalizer example\.com\/x is not removed; .*kubectl patch/,
    },
  })
  t.match(statusOf({ ...node, ...since, finalizers: [] }, report), { state: 'deleting', pending: undefined })
})

t.test('where reports cannot be read, nothing is said of a Node but what it says itself', async (t) => {
  t.match(statusOf(initialized().node, 'unread'), {
    state: 'unknown',
    pending: undefined,
    level: undefined,
    zone: 'zone-a',
    ready: 'True',
  })
  t.match(statusOf(node(), 'unread'), { state: 'unknown', pending: undefined })
  t.match(statusOf({ ...node(), deleting: true }, 'unread'), { state: 'deleting' })
})

t.test('the status of a former Node of that name is nothing about this one', async (t) => {
  const { node, report } = initialized()
  const anew = { ...node, uid: '22222222-2222-4333-8444-555555555555' }
  t.match(statusOf(anew, report), { level: undefined, vCenter: undefined, power: undefined })
})

t.test('a VM that is off, whose taint the API server refuses', async (t) => {
  const off = facts({ ...initialized(), lookups: lookups(vm({ powerState: 'poweredOff' })) })
  const write = { write: 'node', outcome: 'rejected', message: 'webhook down' } as const
  const refused = decideOnRejectedWrite(write, decide(off), off, off.now)
  t.match(of(after(off, refused)), { state: 'VM off', pending: { reason: 'NodePatchRefused' } })
})

t.test('a VM that is off', async (t) => {
  const { node, report } = initialized()
  for (const [powerState, power] of [
    ['poweredOff', 'off'],
    ['suspended', 'suspended'],
  ] as const) {
    const off = facts({ node, report, lookups: lookups(vm({ powerState })) })
    t.match(decided(off), { state: 'VM off', power, level: 'proven' })
  }
})

t.test('a VM that is missing: not told yet, held, being deleted', async (t) => {
  const { node, report } = initialized()
  const silent = { ...node, ready: { status: 'Unknown', lastHeartbeatTime: '' } }
  const missing = (changes: Partial<NodeFacts> = {}) =>
    facts({ node: silent, report, lookups: lookups(), ...changes })
  t.match(decided(missing()), {
    state: 'VM missing',
    pending: { condition: 'DeletionPending', reason: 'NotConfirmed' },
    power: undefined,
  })
  const { status = {} } = decide(missing())
  const gone = (reason: string) => ({
    node: silent,
    report: report && {
      ...report,
      status: {
        ...status,
        brakeEngagedFor: 'vc1',
        conditions: (status.conditions ?? []).map((each) =>
          each.type === 'DeletionPending' ? { ...each, status: 'True' as const, reason } : each,
        ),
      },
    },
  })
  t.match(of(gone('BrakeEngaged')), {
    state: 'VM gone',
    pending: { reason: 'BrakeEngaged' },
    brakeEngagedFor: 'vc1',
  })
  t.match(of({ ...gone('VMGone'), node: { ...silent, deleting: true } }), { state: 'deleting' })
})

t.test('what is contradicted or cannot be verified now is doubted', async (t) => {
  const { node, report } = initialized()
  const alone = {
    state: 'unknown',
    failure: { vCenter: 'vc1', reason: 'NoPermission', message: 'may not be read' },
    alone: true,
  } as const
  const unreadable = facts({ node, report, lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: alone }] })
  t.match(decided(unreadable), { state: 'doubted', pending: { reason: 'NoPermission' }, level: 'proven' })
})

t.test('what holds nothing up is told of a Node that runs', async (t) => {
  const { node, report } = initialized()
  const failure = { vCenter: 'vc1', reason: 'PrivilegeMissing', message: 'System.View is missing' } as const
  const provable = [{ state: 'unproven', failure } as const]
  t.match(decided(facts({ node, report, provable })), {
    state: 'initialized',
    pending: { condition: 'DeletionPossible', reason: 'PrivilegeMissing' },
  })
  const settings = { ...SETTINGS, labels: { zone: undefined, region: undefined } }
  t.match(decided(facts({ node, report, settings })), { pending: undefined }, 'no labels are asked for')
  const label = 'rollcall.node-restriction.kubernetes.io/owner'
  const owner = { label, from: { kind: 'attribute', name: 'Owner' }, map: new Map(), when: 'live' } as const
  t.match(decided(facts({ node, report, settings: { ...SETTINGS, labelRules: [owner] } })), {
    state: 'initialized',
    pending: { condition: 'LabelsResolved', reason: 'LabelUnreadable' },
  })
})

t.test('words of strangers are no names of ours', async (t) => {
  const { node, report } = initialized()
  const conditions = (report?.status.conditions ?? []).map((each) =>
    each.type === 'VMFound' ? { ...each, reason: 'constructor' } : each,
  )
  t.match(of({ node, report: report && { ...report, status: { ...report.status, conditions } } }), {
    power: undefined,
  })
  t.match(of({ node: { ...node, taints: [{ key: TAINT_UNINITIALIZED, effect: 'NoSchedule' }] }, report }), {
    state: 'waiting',
    vm: boundVM().name,
  })
})
