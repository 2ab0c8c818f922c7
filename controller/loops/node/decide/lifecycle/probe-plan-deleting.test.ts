import t from 'tap'
import {
  BIOS_UUID,
  decide,
  facts,
  NODE_UID,
  node,
  report,
  settled,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import { absence, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import type { VCenterProbe } from '../../../../types/inventory.ts'
import type { NodeFacts } from '../node-facts.ts'
import { isGone } from './evidence.ts'

const SILENT = { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:50:00Z' }
const NONE = [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [] } }] as const

/** A Node that a finalizer keeps, and whose VM no vCenter shows. */
function departing(changes: Partial<NodeFacts> = {}): NodeFacts {
  const before = settled({ lookups: NONE })
  const leaving = { deleting: true, deletingSince: '2026-03-01T09:00:00Z', finalizers: ['a.io/b'] }
  return { ...before, node: { ...before.node, ready: SILENT, ...leaving }, ...changes }
}

t.test('is probed like any Node whose VM is missing, and nothing is written', async (t) => {
  const decision = decide(departing())
  t.match(decision, { state: 'unmanaged', events: [], requeue: false })
  t.match(decision.probePlan, { due: true, missing: true, request: { nodeUID: NODE_UID } })
  t.equal(decision.probePlan?.absence, undefined, 'nor does it count for the brake')
  for (const key of ['patch', 'status', 'deletion', 'create'] as const) t.notOk(key in decision, key)
})

t.test('once it is proven gone, it is asked for now and then, and searched for', async (t) => {
  const evidence = absence(departing(), { times: 1, ago: 1_000 })
  const { node, report } = departing()
  t.ok(isGone(node, report, evidence))
  const proven = decide(departing({ evidence }))
  t.match(proven, { probePlan: { due: false }, recheck: [BIOS_UUID], requeueAfter: 60_000 })
  t.match(decide(departing({ evidence: absence(departing(), { ago: 600_000 }) })).probePlan, { due: true })
})

t.test('the same where a copy with its BIOS UUID is shown', async (t) => {
  const copy = vm({ moref: 'vm-9', instanceUUID: 'another' })
  const lookups = [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [copy] } }] as const
  t.match(decide(departing({ lookups })).probePlan, { due: true, missing: undefined })
  const probes = [probe({ biosUUID: { state: 'found', vm: seenVM({ moref: 'vm-9' }) } })]
  const evidence = { ...absence(departing(), { ago: 1_000, probes }), absent: undefined, unproven: 1 }
  const { node, report } = departing()
  t.ok(isGone(node, report, evidence))
  t.match(decide(departing({ lookups, evidence })), { probePlan: { due: false }, requeueAfter: 29_000 })
})

t.test('where its vCenter was taken out of the configuration, the others are enough', async (t) => {
  const { node, report } = departing()
  const isFree = (one: typeof node, ...probes: readonly VCenterProbe[]) =>
    isGone(one, report, { ...absence(departing(), { probes }), absent: undefined })
  const elsewhere = probe({ vCenter: 'vc2', vCenterInstanceUUID: 'two' })
  t.ok(isFree(node, elsewhere))
  t.notOk(isFree({ ...node, deleting: false }, elsewhere), 'as long as nobody has deleted its Node')
  const found = { state: 'found', vm: seenVM({ moref: 'vm-9' }) } as const
  t.notOk(isFree(node, { ...elsewhere, biosUUID: found }), 'it may have moved there')
  t.notOk(isFree(node, { ...elsewhere, instanceUUID: found }))
  const failure = { vCenter: 'vc1', reason: 'Unreachable', message: 'away' } as const
  const away = { vCenterInstanceUUID: undefined, privileges: { state: 'unproven', failure } } as const
  t.notOk(isFree(node, elsewhere, probe(away)), 'one that does not answer may be its own')
})

t.test('a sign of life starts the proof anew', async (t) => {
  const evidence = absence(departing(), { ago: 120_000 })
  const spoken = departing({ evidence, report: { ...(departing().report ?? report()), reportedAt: 'later' } })
  t.notOk(isGone(spoken.node, spoken.report, evidence))
  t.match(decide(spoken).probePlan, { due: false })
  t.match(decide({ ...spoken, monotonic: spoken.monotonic + 60_000 }).probePlan, { due: true })
})

t.test('what is there, unknown, Ready, or left to a CPI is left alone', async (t) => {
  const failure = { vCenter: 'vc1', reason: 'Unreachable', message: 'away' } as const
  const shown = settled()
  const cases: Record<string, Partial<NodeFacts>> = {
    'its VM is there': { lookups: shown.lookups },
    'vCenter is away': {
      lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } }],
    },
    'its kubelet speaks': { node: { ...departing().node, ready: { ...SILENT, status: 'True' } } },
    'a CPI runs': { interlock: { state: 'held', message: 'a CPI' } },
  }
  for (const [what, changes] of Object.entries(cases))
    t.same(decide(departing(changes)), { state: 'unmanaged', events: [], requeue: false }, what)
  const never = { ...facts({ node: node({ ...departing().node, systemUUID: '' }), report: undefined }) }
  t.equal(decide(never).probePlan, undefined, 'no machine is known')
})
