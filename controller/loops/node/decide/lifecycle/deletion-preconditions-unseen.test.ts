import t from 'tap'
import { BIOS_UUID, decide, fleet, node, report, SETTINGS, spec } from '../../../../../test/fixtures/facts.ts'
import { gone, pending, settings, takenOver } from '../../../../../test/fixtures/gone.ts'
import { probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import { migrated, SILENT, unseen } from '../../../../../test/fixtures/unseen.ts'
import type { LifecycleConfig } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import { TAINT_UNINITIALIZED } from '../../../../types/well-known.ts'
import { machinesOf } from '../../facts/machines.ts'
import { agentlessReport } from '../../facts/previous-status.ts'
import type { NodeFacts } from '../node-facts.ts'

const { lifecycle } = SETTINGS
const OTHER_UUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6c'

/** One that nobody has initialized: its agent has reported, or just its kubelet has spoken. */
function newcomer(
  by: 'agent' | 'kubelet',
  changes: Partial<LifecycleConfig> = {},
  ready: Node['ready'] = SILENT,
): NodeFacts {
  const silent = node({ ready })
  const said = by === 'agent' ? spec() : agentlessReport(silent)
  return unseen(silent, report({ spec: { ok: true, value: said } }), changes)
}

t.test('a Node that was never bound takes a setting, and more time', async (t) => {
  const kept = decide(migrated())
  t.match(pending(kept), { status: 'True', reason: 'NotBound' })
  t.match(pending(kept)?.message, new RegExp(`${OTHER_UUID}.*kubectl delete node worker-1, or set lifecycle`))
  t.match(kept.refusal, { condition: 'DeletionPending', reason: 'NotBound' }, 'the metric has it')
  t.match(kept.events, [{ type: 'Warning', reason: 'NotBound' }])
  t.match(decide(migrated({ unbound: 'delete' })).deletion, {
    event: { message: new RegExp(`the machine with BIOS UUID ${OTHER_UUID} is gone`) },
  })
  const early = decide(migrated({ unbound: 'delete' }, 6 * lifecycle.absentFor - 1))
  t.equal(early.deletion, undefined)
  t.match(pending(early), { reason: 'NotConfirmed', message: /over 30m/ })
  const ready = {
    ...migrated(),
    node: { ...migrated().node, ready: { status: 'True', lastHeartbeatTime: '' } },
  }
  t.same(decide(ready).events, [], 'nothing is said of one that is ready')
  t.equal(decide(ready).probePlan, undefined, 'nor asked')
})

t.test('before the first probe it says how to let the Node go, where proof alone would not', async (t) => {
  const first = (facts: NodeFacts) => pending(decide({ ...facts, evidence: undefined }))
  for (const [facts, wayOut] of [
    [migrated(), 'kubectl delete node worker-1, or set lifecycle.unbound to delete'],
    [takenOver(), 'kubectl delete node worker-1'],
  ] as const)
    t.match(first(facts), {
      status: 'Unknown',
      reason: 'NotConfirmed',
      message: new RegExp(
        `the Node is kept: no vCenter has ever shown .*${OTHER_UUID}.* if it is gone: ${wayOut}$`,
      ),
    })
  t.match(first(gone(settings({ deletion: 'off' }))), {
    message: /the Node is kept: lifecycle\.deletion is off; /,
  })
  const held = node({ ready: SILENT, deletionAnnotation: 'hold' })
  t.match(first(gone({ node: held })), { message: /the Node is kept: the annotation .*=hold keeps it/ })
  for (const facts of [migrated({ unbound: 'delete' }), newcomer('agent'), gone()])
    t.match(first(facts)?.message, /the Node is kept until it is known that it is gone$/)
})

t.test('a machine that is there after all is searched for, too, though no agent speaks for it', async (t) => {
  const silent = migrated()
  const found = [probe({ biosUUID: { state: 'found', vm: seenVM({ biosUUID: OTHER_UUID }) } })]
  const there = decide({ ...silent, evidence: silent.evidence && { ...silent.evidence, probes: found } })
  t.match(pending(there), { status: 'False', reason: 'VMExists' })
  t.ok(there.recheck?.includes(OTHER_UUID), 'as soon as a probe has found it')
  t.same(decide({ ...silent, evidence: undefined }).recheck, [], 'and not before')
})

t.test('a Node that was never initialized goes where its agent has said which VM it is', async (t) => {
  t.match(decide(newcomer('agent')).deletion, {
    event: { message: new RegExp(`the machine with BIOS UUID ${BIOS_UUID} is gone`) },
  })
  const kept = decide(newcomer('kubelet'))
  t.match(
    pending(kept),
    { status: 'True', reason: 'NotBound' },
    'by the word of its kubelet alone it does not',
  )
  t.match(decide(newcomer('kubelet', { unbound: 'delete' })).deletion, {}, 'unless that is configured')
  const asserted = newcomer('kubelet')
  const identity = { ...SETTINGS.identity, require: 'asserted' } as const
  t.match(
    decide({ ...asserted, settings: { ...asserted.settings, identity } }).deletion,
    {},
    'or that word is believed',
  )
})

t.test('while it starts, nobody asks for its VM', async (t) => {
  for (const status of ['False', 'True']) {
    const starting = { ...newcomer('agent', {}, { ...SILENT, status }), evidence: undefined }
    t.equal(decide(starting).probePlan, undefined, status)
    t.equal(pending(decide(starting)), undefined, status)
  }
  const back = newcomer('agent', {}, { ...SILENT, status: 'False' })
  const before = decide({ ...newcomer('agent'), evidence: undefined }).status
  const again = decide({ ...back, evidence: undefined, report: report({ status: { ...before } }) })
  t.match(pending(again), { status: 'False', reason: 'NodeReady' }, 'and once it speaks again, that is said')
})

t.test(
  'a newcomer without a report gets one when it falls silent, where lifecycle.unbound is delete',
  async (t) => {
    const { settings } = newcomer('agent', { unbound: 'delete' })
    for (const [facts, creates] of [
      [{ ...newcomer('agent'), settings, report: undefined }, true],
      [{ ...newcomer('agent'), report: undefined }, false],
      [{ ...newcomer('agent', {}, { ...SILENT, status: 'False' }), settings, report: undefined }, false],
    ] as const)
      t.equal(decide(facts).create !== undefined, creates)
  },
)

t.test("a Node that asks for nothing is nobody's, whatever its kubelet says", async (t) => {
  t.equal(machinesOf(node({ taints: [] }), report()), undefined)
  t.match(machinesOf(node(), report()), { bound: false, machines: [{ biosUUID: BIOS_UUID }] })
  t.match(node().taints, [{ key: TAINT_UNINITIALIZED }])
})

t.test('the brake engages for machines that were never seen only where they would be deleted', async (t) => {
  const many = {
    fleet: () => fleet({ bound: 5, absentSince: [0, 0, 0] }),
    absentSince: 0,
  }
  const held = decide({ ...migrated({ unbound: 'delete' }), ...many })
  t.equal(held.deletion, undefined)
  t.match(held.status, { brakeEngagedFor: 'unknown' })
  t.match(pending(held)?.message, /machines that no vCenter has ever shown/)
  const reported = decide({ ...migrated(), ...many })
  t.equal(reported.status?.brakeEngagedAt, undefined, 'they would not')
})
