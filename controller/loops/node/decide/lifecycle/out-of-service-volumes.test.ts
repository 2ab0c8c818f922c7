import t from 'tap'
import { decide, facts, NOW, node, SETTINGS, settled } from '../../../../../test/fixtures/facts.ts'
import { absence } from '../../../../../test/fixtures/probes.ts'
import type { LifecycleConfig } from '../../../../config/config.ts'
import type { Taint } from '../../../../types/node.ts'
import type { NodeFacts } from '../node-facts.ts'

const WAIT = 120_000
const { absentFor } = SETTINGS.lifecycle
const TAINT: Taint = { key: 'node.kubernetes.io/out-of-service', value: 'rollcall', effect: 'NoExecute' }

interface Changes {
  readonly taints?: readonly Taint[]
  readonly attachments?: number | undefined
  /** How long its absence has been proven. */
  readonly since?: number
  readonly lifecycle?: Partial<LifecycleConfig>
  readonly facts?: Partial<NodeFacts>
}

/** A Node whose VM is gone beyond doubt, and which has volumes. */
function attached(changes: Changes = {}): NodeFacts {
  const { taints = [], since = absentFor, lifecycle } = changes
  const attachments = 'attachments' in changes ? changes.attachments : 2
  const before = settled({ vms: [] })
  const silent = node({ taints, ready: { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:59:55Z' } })
  const { providerID, labels } = before.node
  const evidence = absence({ ...facts(), node: silent, report: before.report })
  const last = facts().monotonic
  return {
    ...before,
    node: { ...silent, providerID, labels },
    settings: {
      ...SETTINGS,
      lifecycle: { ...SETTINGS.lifecycle, waitForVolumes: WAIT, ...lifecycle },
    },
    evidence: { ...evidence, attachments, absent: { since: last - since, last, times: 3 } },
    ...changes.facts,
  }
}

const ago = (ms: number): Taint => ({ ...TAINT, timeAdded: new Date(NOW - ms).toISOString() })

t.test('a Node with volumes is called out of service before it is deleted', async (t) => {
  const decision = decide(attached())
  t.equal(decision.deletion, undefined)
  t.same(decision.patch?.taints, [{ ...TAINT, timeAdded: '2026-03-01T10:00:00Z' }])
  t.equal(decision.confirmLease, true, 'by a leader that is sure')
  t.match(
    decision.events.filter(({ reason }) => reason === 'OutOfService'),
    [{ type: 'Warning', message: /vm-42.*is gone.*then it is deleted/ }],
  )
  const waits = decide(attached({ taints: [ago(WAIT - 1)] }))
  t.equal(waits.deletion, undefined)
  t.equal(waits.patch?.taints, undefined, 'once')
  t.ok((waits.requeueAfter ?? Number.NaN) <= 1)
  t.ok(decide(attached({ taints: [ago(WAIT - 1)], attachments: 0 })).deletion, 'they are detached')
  t.ok(decide(attached({ taints: [ago(WAIT)] })).deletion, 'or the time is over')
})

t.test('a taint that a clock dated ahead gets the time of now, and keeps the Node no longer', async (t) => {
  const other: Taint = { key: 'example.com/other', effect: 'NoExecute' }
  const decision = decide(attached({ taints: [ago(-86_400_000), other] }))
  t.equal(decision.deletion, undefined)
  t.same(decision.patch?.taints, [other, { ...TAINT, timeAdded: '2026-03-01T10:00:00Z' }])
  const foreign = { ...ago(-86_400_000), value: 'nodeshutdown' }
  const persons = (since: number) => decide(attached({ taints: [foreign], since }))
  t.equal(persons(absentFor + WAIT - 1).deletion, undefined)
  t.equal(persons(absentFor + WAIT - 1).patch?.taints, undefined, "a person's taint is left as it is")
  t.ok(persons(absentFor + WAIT).deletion)
})

t.test('not where anything else keeps the Node, or nobody waits', async (t) => {
  const others: Record<string, Changes> = {
    'dry-run': { lifecycle: { deletion: 'dry-run' } },
    off: { lifecycle: { deletion: 'off' } },
    'the leader is young': { facts: { leadingFor: 0 } },
    'not confirmed': { lifecycle: { confirmations: 4 } },
    'another is missing and not counted yet': { facts: { uncounted: () => 'worker-2' } },
    'the API server would not have it': { facts: { deletionRefused: 'no' } },
    'a person holds it': { facts: { node: { ...attached().node, deletionAnnotation: 'hold' } } },
    'it is Ready': {
      facts: {
        node: { ...attached().node, ready: { status: 'True', lastHeartbeatTime: '2026-03-01T09:59:55Z' } },
      },
    },
  }
  for (const [name, changes] of Object.entries(others)) {
    t.equal(decide(attached(changes)).patch?.taints, undefined, name)
    t.equal(decide(attached(changes)).deletion, undefined, name)
  }
  const impatient = decide(attached({ lifecycle: { waitForVolumes: undefined } }))
  t.ok(impatient.deletion)
  t.equal(impatient.patch, undefined)
})

t.test('however long it was held for something else, its volumes have their time', async (t) => {
  const decision = decide(attached({ since: 100 * WAIT + absentFor }))
  t.equal(decision.deletion, undefined)
  t.ok(decision.patch?.taints)
})

t.test(
  'volumes that cannot be counted, or a taint without a time, are waited for from the proof on',
  async (t) => {
    for (const changes of [{ attachments: undefined }, { taints: [{ ...TAINT, value: 'nodeshutdown' }] }]) {
      const early = decide(attached({ ...changes, since: absentFor + WAIT - 1 }))
      t.equal(early.deletion, undefined)
      t.equal(early.patch?.taints, undefined)
      t.ok(decide(attached({ ...changes, since: absentFor + WAIT })).deletion)
    }
  },
)
