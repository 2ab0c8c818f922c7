import t from 'tap'
import type { BoundVM, IdentityLevel } from '../../../agent/shared/node-report.ts'
import { boundVM, NODE_UID, node, report, SETTINGS } from '../../../test/fixtures/facts.ts'
import type { Decision } from '../../loops/node/decide/decision.ts'
import type { Node } from '../../types/node.ts'
import { changesSomething, isWhole, planOf, printPlan } from './node-plan.ts'

const LIFECYCLE = { deletion: 'on', unbound: 'report' } as const
const notReady = { status: 'Unknown', lastHeartbeatTime: '' }
const unseen = boundVM({ moref: '', vCenterInstanceUUID: '' })

function missing(vm = boundVM(), others: readonly BoundVM[] = []): Decision {
  const request = { nodeUID: NODE_UID, vm, others, lifeSign: '', agentSign: undefined, volumes: false }
  const probePlan = { request, due: true, missing: true } as const
  return { state: 'initialized', events: [], requeue: false, probePlan }
}

t.test('a deletion is planned where only proof and time are wanting', async (t) => {
  const cases: readonly [
    string,
    Partial<Node>,
    Decision,
    { deletion: 'on' | 'off'; unbound: 'report' | 'delete' },
    boolean,
  ][] = [
    ['its VM is missing', {}, missing(), LIFECYCLE, true],
    ['deletion is off', {}, missing(), { ...LIFECYCLE, deletion: 'off' }, false],
    ['a person holds it', { deletionAnnotation: 'hold' }, missing(), LIFECYCLE, false],
    ['a person lets it go', { deletionAnnotation: 'proceed' }, missing(), LIFECYCLE, true],
    ['it is Ready', { ready: { ...notReady, status: 'True' } }, missing(), LIFECYCLE, false],
    ['it was never bound', {}, missing(unseen), LIFECYCLE, false],
    ['it was never bound, and may go', {}, missing(unseen), { ...LIFECYCLE, unbound: 'delete' }, true],
    ['a machine took it over that was never seen', {}, missing(boundVM(), [unseen]), LIFECYCLE, false],
    [
      'nor then, for it was bound before',
      {},
      missing(boundVM(), [unseen]),
      { ...LIFECYCLE, unbound: 'delete' },
      false,
    ],
    [
      'its VM is off',
      {},
      { ...missing(), probePlan: { request: missing().probePlan?.request ?? never(), due: false } },
      LIFECYCLE,
      false,
    ],
  ]
  for (const [what, changes, decision, lifecycle, expected] of cases) {
    const before = node({ ready: notReady, ...changes })
    const vm = decision.probePlan?.request.vm ?? never()
    const plan = planOf({
      before,
      after: before,
      report: vm === unseen ? undefined : report({ status: { nodeUID: NODE_UID, vm } }),
      decision,
      settings: { ...SETTINGS, lifecycle: { ...SETTINGS.lifecycle, ...lifecycle } },
    })
    t.equal(
      plan.changes.some((change) => change.what === 'deletion'),
      expected,
      what,
    )
  }
})

function never(): never {
  throw new Error('there is no request')
}

t.test('what a Node lacks for a higher level is told', async (t) => {
  const plannedAs = (level: IdentityLevel | undefined) => {
    const before = node({ name: `is-${level}` })
    const condition = {
      type: 'IdentityVerified',
      status: 'True',
      reason: 'Reported',
      message: 'why',
      lastTransitionTime: '',
    } as const
    const decision: Decision = {
      state: 'initialized',
      ...(level === undefined ? {} : { level }),
      events: [],
      requeue: false,
      status: { conditions: [condition] },
    }
    return planOf({ before, after: before, report: report(), decision, settings: SETTINGS })
  }
  const nodes = ([undefined, 'asserted', 'reported', 'proven'] as const).map(plannedAs)
  t.same(
    nodes.map(({ lacks }) => lacks),
    [undefined, 'why', 'why', undefined],
  )
  const text = printPlan({ nodes, remarks: [] })
  t.match(text, /^Nodes that need an agent to reach reported: 1 \(is-asserted\)$/m)
  t.match(text, /^Nodes that need a claim by their VM to reach proven: 1 \(is-reported\); /m)
  t.notMatch(printPlan({ nodes: [plannedAs('proven')], remarks: [] }), /Nodes that need/)
})

t.test('a running Node that would be refused is named, with the reason', async (t) => {
  const before = node()
  const condition = {
    type: 'VMFound',
    status: 'False',
    reason: 'AmbiguousUUID',
    message: 'two VMs',
    lastTransitionTime: '',
  } as const
  const decision: Decision = {
    state: 'refused',
    events: [],
    requeue: false,
    status: { conditions: [condition] },
  }
  const plan = planOf({ before, after: before, report: report(), decision, settings: SETTINGS })
  t.same(plan.remarks, ['AmbiguousUUID: two VMs'])
  const whole = { nodes: [plan], remarks: [] }
  t.equal(changesSomething(whole), false)
  t.match(printPlan(whole), /! AmbiguousUUID: two VMs\n\nno change to any of 1 Nodes\n$/)
  t.equal(isWhole(whole), true)
  t.equal(isWhole({ ...whole, remarks: ['vCenter vc1 did not answer in time'] }), false)
})

t.test('a Node that waits for its agent is named, for nothing else can be told of it', async (t) => {
  const before = node()
  const refusal = { condition: 'IdentityVerified', reason: 'NoReport' } as const
  const decision: Decision = { state: 'waiting', refusal, events: [], requeue: false }
  const plan = planOf({ before, after: before, report: undefined, decision, settings: SETTINGS })
  t.match(printPlan({ nodes: [plan], remarks: [] }), /^ {2}! NoReport: waiting for its agent to report/m)
})

t.test('a certificate that would be approved is a change, unless it was approved before', async (t) => {
  const before = node()
  const conditionOf = (status: 'True' | 'False', message: string) =>
    ({
      type: 'ServingCertificate',
      status,
      reason: 'NameNotVerified',
      message,
      lastTransitionTime: '',
    }) as const
  const planned = (now: ReturnType<typeof conditionOf>, was?: ReturnType<typeof conditionOf>) =>
    planOf({
      before,
      after: before,
      report: report(),
      reportBefore: was && { ...report(), status: { conditions: [was] } },
      decision: { state: 'initialized', events: [], requeue: false, status: { conditions: [now] } },
      settings: SETTINGS,
    })
  const approved = conditionOf('True', 'csr-1: for worker-1')
  t.same(planned(approved).changes, [{ what: 'certificate', from: undefined, to: 'csr-1: for worker-1' }])
  t.same(planned(approved, conditionOf('True', 'csr-0: for worker-1')).changes.length, 1)
  t.same(planned(approved, approved).changes, [])
  const waits = planned(conditionOf('False', 'csr-1: why'))
  t.same([waits.changes, waits.remarks], [[], ['NameNotVerified: csr-1: why']])
})
