import t from 'tap'
import { facts, node, report } from '../../../test/fixtures/facts.ts'
import { absence } from '../../../test/fixtures/probes.ts'
import { isGone } from './gone.ts'

const silent = node({ ready: { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:59:55Z' } })
const evidence = absence({ ...facts(), node: silent, report: report() }, { times: 1 })

t.test('one whole proof is enough, as long as nothing contradicts it', async (t) => {
  t.equal(isGone(silent, report(), evidence), true)
})

const CASES: Record<string, Parameters<typeof isGone>> = {
  'nothing is known': [silent, report(), undefined],
  'the proof is not whole, as of one that is off': [silent, report(), { ...evidence, absent: undefined }],
  'its kubelet calls it ready': [node(), report(), evidence],
  'its kubelet lives, and says that it is not ready': [
    node({ ready: { status: 'False', lastHeartbeatTime: '2026-03-01T10:00:00Z' } }),
    report(),
    evidence,
  ],
  'its agent has reported since': [silent, report({ reportedAt: '2026-03-01T10:00:00Z' }), evidence],
  'its kubelet has renewed its Lease': [silent, report(), { ...evidence, beats: true }],
  'it is about a Node that was deleted': [node({ ...silent, uid: 'another' }), report(), evidence],
}

for (const [why, given] of Object.entries(CASES)) {
  t.test(`not where ${why}`, async (t) => {
    t.equal(isGone(...given), false)
  })
}
