import t from 'tap'
import { boundVM, facts, node, report } from '../../../../../test/fixtures/facts.ts'
import { absence, answerAt, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import type { VCenterProbe } from '../../../../types/inventory.ts'
import { agentlessReport } from '../../facts/previous-status.ts'
import {
  agentSignOf,
  type Evidence,
  isGone,
  lifeSignOf,
  type ProbeRequest,
  type ProbeResult,
  weigh,
} from './evidence.ts'

const REQUEST: ProbeRequest = {
  nodeUID: 'uid',
  vm: boundVM(),
  others: [],
  lifeSign: 'a',
  agentSign: 'a',
  volumes: false,
}
const failure = { vCenter: 'vc1', reason: 'TimedOut' as const, message: 'it took too long' }

/** The evidence after these answers, one a second, the first at 1000. */
function after(
  ...answers: [
    changes?: Partial<VCenterProbe>,
    request?: Partial<ProbeRequest>,
    rest?: Partial<ProbeResult>,
  ][]
): Evidence {
  let evidence: Evidence | undefined
  for (const [i, [changes, request, rest]] of answers.entries()) {
    const result = answerAt((i + 1) * 1000, [probe(changes)])
    evidence = weigh(evidence, { ...REQUEST, ...request }, { ...result, ...rest })
  }
  if (evidence === undefined) throw new Error('no answer was given')
  return evidence
}

t.test('proofs in a row are counted, from the first to the last', async (t) => {
  t.same(after([]).absent, { since: 1000, last: 1000, times: 1 })
  t.same(after([], [], []).absent, { since: 1000, last: 3000, times: 3 })
})

t.test('whatever else breaks the row', async (t) => {
  const rows: [string, Parameters<typeof after>[number]][] = [
    ['the VM is found', [{ moref: { state: 'found', vm: seenVM() } }]],
    ['it is found by UUID', [{ biosUUID: { state: 'found', vm: seenVM({ moref: 'vm-9' }) } }]],
    ['it could not be asked', [{ moref: { state: 'unknown', failure } }]],
    ['a privilege is lost', [{ privileges: { state: 'unproven', failure } }]],
    ['the canary is gone', [{ canary: { state: 'unproven', failure } }]],
    ['another vCenter answers', [{ vCenterInstanceUUID: 'another' }]],
  ]
  for (const [name, wrong] of rows) {
    t.equal(after([], wrong).absent, undefined, name)
    t.same(
      after([], [], wrong, []).absent,
      { since: 4000, last: 4000, times: 1 },
      `${name}: from the beginning`,
    )
  }
})

t.test('what was found out in other circumstances does not count', async (t) => {
  const rows: [string, Parameters<typeof after>[number]][] = [
    ['a new session', [{ session: 2 }]],
    ['a sign of life', [{}, { lifeSign: 'b' }]],
    ['another Node', [{}, { nodeUID: 'other' }]],
    ['another VM', [{}, { vm: boundVM({ moref: 'vm-9' }) }]],
    ['one VM more', [{}, { others: [boundVM({ moref: 'vm-9' })] }]],
    ['a heartbeat', [{}, {}, { heartbeat: 'beat' }]],
  ]
  for (const [name, other] of rows) {
    t.same(after([], [], other).absent, { since: 3000, last: 3000, times: 1 }, name)
  }
})

t.test('the kubelet must be known to be silent', async (t) => {
  t.equal(after([], [{}, {}, { heartbeat: undefined }]).absent, undefined)
  t.equal(after([], [{}, {}, { heartbeat: undefined }], []).absent?.times, 1)
  t.equal(after([]).beats, false)
  t.equal(after([], [{}, {}, { heartbeat: 'beat' }]).beats, true)
  t.equal(after([], [{}, {}, { heartbeat: undefined }]).beats, false, 'a Lease that cannot be read')
  t.equal(after([], [{}, {}, { heartbeat: 'beat' }], [{}, {}, { heartbeat: 'beat' }]).beats, false)
})

t.test('a machine has spoken that gives a sign of life after its absence was proven', async (t) => {
  const wrong: Parameters<typeof after>[number] = [{ canary: { state: 'unproven', failure } }]
  const beats: Parameters<typeof after>[number] = [{}, {}, { heartbeat: 'beat' }]
  t.equal(after([], []).spokenAt, undefined)
  t.equal(after([], beats).spokenAt, 2000)
  t.equal(after([], [{}, { lifeSign: 'b' }]).spokenAt, 2000)
  t.equal(after([], beats, beats).spokenAt, 2000, 'for the last time')
  t.equal(after([], beats, wrong, beats).spokenAt, 4000, 'whatever is proven meanwhile')
  t.equal(after(wrong, beats).spokenAt, undefined, 'nothing was proven')
  t.equal(after([], [{}, {}, { heartbeat: undefined }]).spokenAt, undefined, 'its Lease could not be read')
  t.equal(after([], [{}, { vm: boundVM({ moref: 'vm-9' }) }, { heartbeat: 'beat' }]).spokenAt, undefined)
})

t.test('answers that prove nothing are counted', async (t) => {
  const wrong: Parameters<typeof after>[number] = [{ canary: { state: 'unproven', failure } }]
  t.equal(after([]).unproven, 0)
  t.equal(after(wrong, wrong, wrong).unproven, 3)
  t.equal(after(wrong, wrong, []).unproven, 0)
})

t.test('a VM that is off, and stays so', async (t) => {
  const off = (changes = {}) =>
    [{ moref: { state: 'found', vm: seenVM({ powerState: 'poweredOff', ...changes }) } as const }] satisfies [
      Partial<VCenterProbe>,
    ]
  t.same(after(off(), off()).off, { since: 1000, last: 2000, times: 2 })
  t.equal(after(off({ powerState: 'suspended' })).off, undefined, 'it goes on writing when it wakes')
  t.equal(after(off(), off({ powerState: 'poweredOn' })).off, undefined)
  t.equal(after(off({ connectionState: 'disconnected' })).off, undefined, 'nobody knows')
  t.equal(after(off({ mayRestart: ['vSphere HA protects it'] })).off, undefined)
  t.equal(after([]).off, undefined, 'it is not there')
})

t.test('a sign of life is whatever the machine writes', async (t) => {
  const sign = (ready: string, reportedAt: string, generation = 1) =>
    lifeSignOf(
      node({ ready: { status: 'Unknown', lastHeartbeatTime: ready } }),
      report({ reportedAt, generation }),
    )
  t.equal(sign('1', 'a'), sign('1', 'a'))
  t.not(sign('1', 'a'), sign('2', 'a'), 'a heartbeat')
  t.not(sign('1', 'a'), sign('1', 'b'), 'a report that says nothing new')
  t.not(sign('1', 'a'), sign('1', 'a', 2), 'a report')
  const heartbeat = { lastHeartbeatTime: '1' }
  t.equal(
    lifeSignOf(node({ ready: { status: 'True', ...heartbeat } }), undefined),
    lifeSignOf(node({ ready: { status: 'Unknown', ...heartbeat } }), undefined),
    'that others give up on it is none',
  )
})

t.test('it is known since when its agent has been silent', async (t) => {
  const results = (...signs: (string | undefined)[]) =>
    signs.reduce<Evidence | undefined>(
      (before, agentSign, index) =>
        weigh(before, { ...REQUEST, agentSign }, answerAt(1000 * (index + 1), [probe()])),
      undefined,
    )?.agentHeardAt
  t.equal(results('a'), 1000, 'since it is asked')
  t.equal(results('a', 'a', 'a'), 1000)
  t.equal(results('a', 'b', 'b'), 2000)
  t.equal(results(undefined, 'a'), 2000)
  t.equal(agentSignOf(undefined), undefined)
  t.equal(agentSignOf(report({ reportedAt: undefined })), undefined)
  t.not(agentSignOf(report({ reportedAt: '1' })), agentSignOf(report({ reportedAt: '2' })))
  t.equal(agentSignOf(report({ spec: { ok: true, value: agentlessReport(node()) } })), undefined)
})

const silent = node({ ready: { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:59:55Z' } })
const proven = absence({ ...facts(), node: silent, report: report() }, { times: 1 })

t.test('a machine is gone by one whole proof, as long as nothing contradicts it', async (t) => {
  t.equal(isGone(silent, report(), proven), true)
})

const of = (changes: Partial<VCenterProbe>): Evidence =>
  absence({ ...facts(), node: silent, report: report() }, { probes: [probe(changes)] })
const copied = { state: 'found', vm: seenVM({ moref: 'vm-9' }) } as const

t.test('nor does a copy contradict it, which has the BIOS UUID alone', async (t) => {
  t.equal(isGone(silent, report(), of({ biosUUID: copied })), true)
})

t.test('nor does one that the status names, unless it may be the VM under a new reference', async (t) => {
  for (const [instanceUUID, expected] of [
    ['another', true],
    [boundVM().instanceUUID, false],
  ] as const) {
    const namedVM = boundVM({ moref: 'vm-9', instanceUUID })
    const named = report({ status: { ...report().status, namedVM } })
    const evidence = of({ biosUUID: copied })
    const isThere = [probe({ moref: copied })]
    const others = [{ vm: namedVM, probes: isThere }]
    t.equal(
      isGone(silent, named, { ...evidence, others, request: { ...evidence.request, others: [namedVM] } }),
      expected,
    )
  }
})

const NOT_GONE: Record<string, Parameters<typeof isGone>> = {
  'nothing is known': [silent, report(), undefined],
  'its vCenter has it still, perhaps off': [
    silent,
    report(),
    of({ moref: { state: 'found', vm: seenVM() } }),
  ],
  'a VM has its instance UUID, as after a move': [
    silent,
    report(),
    of({ instanceUUID: copied, biosUUID: copied }),
  ],
  'its BIOS UUID is all that is known of it, and a VM has that': [
    silent,
    report(),
    // What the BIOS UUID gave stands for both.
    absence(
      { ...facts(), node: silent, report: report() },
      {
        vm: boundVM({ moref: '', instanceUUID: '', vCenterInstanceUUID: '' }),
        probes: [probe({ moref: undefined, instanceUUID: copied, biosUUID: copied })],
      },
    ),
  ],
  'a vCenter does not answer': [silent, report(), of({ instanceUUID: { state: 'unknown', failure } })],
  'its Lease could not be read': [silent, report(), { ...proven, heartbeat: undefined }],
  'its kubelet calls it ready': [node(), report(), proven],
  'its kubelet lives, and says that it is not ready': [
    node({ ready: { status: 'False', lastHeartbeatTime: '2026-03-01T10:00:00Z' } }),
    report(),
    proven,
  ],
  'its agent has reported since': [silent, report({ reportedAt: '2026-03-01T10:00:00Z' }), proven],
  'its kubelet has renewed its Lease': [silent, report(), { ...proven, beats: true }],
  'it is about a Node that was deleted': [node({ ...silent, uid: 'another' }), report(), proven],
}

for (const [why, given] of Object.entries(NOT_GONE)) {
  t.test(`it is not gone where ${why}`, async (t) => {
    t.equal(isGone(...given), false)
  })
}
