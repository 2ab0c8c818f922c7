import t from 'tap'
import { decide, settled, vm } from '../../../../../test/fixtures/facts.ts'
import { absence } from '../../../../../test/fixtures/probes.ts'
import type { NodeFacts } from '../node-facts.ts'

const SILENT = { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:50:00Z' }

/** A Node whose own VM is not found, while another vCenter shows one with its UUID. */
function departed(changes: Partial<NodeFacts> = {}): NodeFacts {
  const there = vm({ moref: 'vm-77', claim: undefined, vCenter: { name: 'vc2', instanceUUID: 'two' } })
  const before = settled({ vms: [there] })
  return { ...before, node: { ...before.node, ready: SILENT }, ...changes }
}

t.test('it is asked for as often as a proof takes', async (t) => {
  t.match(decide(departed()), { probePlan: { due: true }, requeueAfter: 150_000 })
  const found = { ...absence(departed(), { ago: 30_000 }), absent: undefined }
  t.match(decide(departed({ evidence: found })), { probePlan: { due: false }, requeueAfter: 120_000 })
  const late = { ...found, askedAt: departed().monotonic - 150_000 }
  t.match(decide(departed({ evidence: late })).probePlan, { due: true })
})

t.test('sooner, if none was found by the last search and the kubelet may live', async (t) => {
  const spoken = (ago: number) => departed({ evidence: absence(departed(), { ago, beats: true }) })
  t.match(decide(spoken(5_000)), { probePlan: { due: false }, requeueAfter: 15_000 })
  t.match(decide(spoken(20_000)).probePlan, { due: true })
  const silent = departed({ evidence: absence(departed(), { ago: 20_000 }) })
  t.match(decide(silent), { probePlan: { due: false }, requeueAfter: 130_000 })
})

t.test('it is asked for while its own vCenter can say something, or nobody is to be asked', async (t) => {
  const asked = (state: ReturnType<NodeFacts['vCenterState']>) =>
    decide(departed({ vCenterState: () => state })).probePlan?.due
  t.equal(asked('answers'), true)
  t.equal(asked('unconfigured'), true, 'whether others have the UUID as well decides')
  t.equal(asked('away'), undefined)
  t.equal(asked('refuses'), undefined)
})
