import t from 'tap'
import { BIOS_UUID, boundVM, decide, SETTINGS, settled, vm } from '../../../../../test/fixtures/facts.ts'
import { answerAt, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import type { SeenVM, VMExistence } from '../../../../types/inventory.ts'
import type { Node, Taint } from '../../../../types/node.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { LABEL_CONTROL_PLANE } from '../../../../types/well-known.ts'
import type { NodeFacts } from '../node-facts.ts'
import { type Evidence, lifeSignOf, type ProbeRequest, weigh } from './evidence.ts'
import { judgeOutOfService, OUT_OF_SERVICE } from './out-of-service.ts'
import { SHUTDOWN } from './shutdown-taint.ts'

const AFTER = 600_000
const MONOTONIC = 10_000_000
const SILENT = { status: 'Unknown', lastHeartbeatTime: '2026-03-01T09:00:00Z' }
const RUNS = { status: 'True', lastHeartbeatTime: '2026-03-01T10:00:00Z' }
const OFF = { powerState: 'poweredOff' } as const

const NODE: Node = { ...settled().node, taints: [SHUTDOWN], ready: SILENT }
const REQUEST: ProbeRequest = {
  nodeUID: NODE.uid,
  vm: boundVM(),
  others: [],
  lifeSign: lifeSignOf(NODE, undefined),
  agentSign: undefined,
  volumes: false,
}

/** What was found out: each answer so long ago, milliseconds, and what it said of the VM. */
function evidence(...answers: readonly [ago: number, seen: Partial<SeenVM>, session?: number][]): Evidence {
  const last = answers.reduce<Evidence | undefined>((before, [ago, seen, session = 1]) => {
    const moref = { state: 'found', vm: seenVM(seen) } as const
    const found = { moref, instanceUUID: moref, biosUUID: moref }
    const probes = [probe({ ...found, session })]
    return weigh(before, REQUEST, answerAt(MONOTONIC - ago, probes))
  }, undefined)
  if (last === undefined) throw new Error('there is no answer')
  return last
}

/** A VM that was off from the first answer to the last, and whose Node is out of service. */
const LONG_OFF = evidence([AFTER, OFF], [0, OFF])

type Facts = Parameters<typeof judgeOutOfService>[0]

function facts(changes: Partial<Facts> = {}): Facts {
  const settings = { ...SETTINGS, lifecycle: { ...SETTINGS.lifecycle, outOfServiceAfter: AFTER } }
  return {
    node: NODE,
    evidence: LONG_OFF,
    leadingFor: MONOTONIC,
    monotonic: MONOTONIC,
    now: MONOTONIC,
    settings,
    lookups: shown(),
    previous: {},
    ...changes,
  }
}

const shown = (...others: readonly VirtualMachine[]): NodeFacts['lookups'] => [
  { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [vm(OFF), ...others] } },
]
const ELSEWHERE: Partial<VirtualMachine> = { moref: 'vm-99', instanceUUID: undefined }
/** What a search by the UUID finds besides the VM. */
const found = (...others: readonly string[]): Pick<Facts, 'evidence'> => ({
  evidence: {
    ...LONG_OFF,
    probes: [probe({ ...LONG_OFF.probes[0], biosUUID: { state: 'found', vm: seenVM({ ...OFF }), others } })],
  },
})

const UNANSWERED = {
  state: 'unknown',
  failure: { vCenter: 'vc2', reason: 'Unavailable', message: 'it answers with status 503' },
} as const
const alsoOffThere = shown(vm({ ...OFF, vCenter: { name: 'vc2', instanceUUID: 'another' } }))
/** What another vCenter answers to a search by the UUID. */
const besides = (biosUUID: VMExistence): Pick<Facts, 'evidence'> => ({
  evidence: {
    ...LONG_OFF,
    probes: [...LONG_OFF.probes, probe({ vCenter: 'vc2', vCenterInstanceUUID: 'another', biosUUID })],
  },
})

const given = (changes: Partial<Node>): Pick<Facts, 'node'> => ({ node: { ...NODE, ...changes } })
const set = (changes: Partial<Facts['settings']['lifecycle']>): Pick<Facts, 'settings'> => ({
  settings: { ...SETTINGS, lifecycle: { ...facts().settings.lifecycle, ...changes } },
})
const controlPlane = given({ labels: { ...NODE.labels, [LABEL_CONTROL_PLANE]: '' } })
const taintedBy = (taint: Taint) => given({ taints: [SHUTDOWN, taint] })

/** What follows: to taint, to ask now, to look again in so many milliseconds, to wait for a call, or nothing at all. */
type Expected = 'taint' | 'ask' | number | 'wait' | 'nothing'

const ROWS: readonly [what: string, changes: Partial<Facts>, expected: Expected][] = [
  ['off for so long, asked at both ends', {}, 'taint'],
  [
    'suspended, which goes on writing when it wakes',
    { evidence: evidence([AFTER, { powerState: 'suspended' }], [0, OFF]) },
    AFTER,
  ],
  ['kubelet says NotReady', given({ ready: { ...RUNS, status: 'False' } }), 'taint'],
  ['no Ready condition', given({ ready: undefined }), 'taint'],
  ['not configured', set({ outOfServiceAfter: undefined }), 'nothing'],
  ['nothing asked yet', { evidence: undefined }, 'ask'],
  ['a moment too short', { evidence: evidence([AFTER - 1, OFF], [0, OFF]) }, 1],
  ['asked but once', { evidence: evidence([AFTER, OFF]) }, 'ask'],
  [
    'asked once, just now, of no wait',
    { evidence: evidence([0, OFF]), ...set({ outOfServiceAfter: 0 }) },
    'ask',
  ],
  ['the last answer is old', { evidence: evidence([AFTER, OFF], [10_001, OFF]) }, 'ask'],
  ['the last answer is just new enough', { evidence: evidence([AFTER, OFF], [10_000, OFF]) }, 'taint'],
  ['the Node is Ready', given({ ready: RUNS }), 'wait'],
  ['a control-plane Node', controlPlane, 'nothing'],
  [
    'a control-plane Node, where that is asked for',
    { ...controlPlane, ...set({ outOfServiceControlPlane: true }) },
    'taint',
  ],
  ['its taint stands', taintedBy(OUT_OF_SERVICE), 'nothing'],
  ['a person’s taint stands', taintedBy({ ...OUT_OF_SERVICE, value: 'nodeshutdown' }), 'nothing'],
  ['a taint of another effect stands', taintedBy({ ...OUT_OF_SERVICE, effect: 'NoSchedule' }), 'taint'],
  ['a young leader', { leadingFor: SETTINGS.lifecycle.leaderAge - 5 }, 5],
  ['a leader just old enough', { leadingFor: SETTINGS.lifecycle.leaderAge }, 'taint'],
  [
    'a reason to start it, at the end',
    { evidence: evidence([AFTER, OFF], [0, { ...OFF, mayRestart: ['HA'] }]) },
    30_000,
  ],
  [
    'a reason to start it, at the beginning',
    { evidence: evidence([AFTER, { ...OFF, mayRestart: ['HA'] }], [0, OFF]) },
    AFTER,
  ],
  ['it runs, by reference', { evidence: evidence([AFTER, OFF], [0, {}]) }, 30_000],
  ['it ran in between', { evidence: evidence([AFTER, OFF], [5_000, {}], [0, OFF]) }, AFTER],
  [
    'its host is away',
    { evidence: evidence([AFTER, OFF], [0, { ...OFF, connectionState: 'disconnected' }]) },
    30_000,
  ],
  ['another session since', { evidence: evidence([AFTER, OFF], [0, OFF, 2]) }, AFTER],
  ['a reason that is 30 s old', { evidence: evidence([30_000, { ...OFF, mayRestart: ['HA'] }]) }, 'ask'],
  [
    'a reason, and less to wait than 30 s',
    { evidence: evidence([0, { ...OFF, mayRestart: ['HA'] }]), ...set({ outOfServiceAfter: 3_000 }) },
    3_000,
  ],
  ['a search has found another that nobody shows yet', found('vm-99'), 30_000],
  [
    'a search has found another that is off',
    { ...found('vm-99'), lookups: shown(vm({ ...ELSEWHERE, ...OFF })) },
    'taint',
  ],
  [
    'a search has found another that runs, and is still shown off',
    { ...besides({ state: 'found', vm: seenVM() }), lookups: alsoOffThere },
    30_000,
  ],
  [
    'a search has found another that is off',
    { ...besides({ state: 'found', vm: seenVM(OFF) }), lookups: alsoOffThere },
    'taint',
  ],
  ['another vCenter did not answer the search', besides(UNANSWERED), 'taint'],
  [
    'the same, where it failed over from, which is not noticed yet',
    { ...besides(UNANSWERED), lookups: alsoOffThere, previous: { formerVMs: [boundVM({ moref: 'vm-99' })] } },
    30_000,
  ],
]

for (const [what, changes, expected] of ROWS) {
  t.test(`${what}: ${expected}`, async (t) => {
    const outcome = judgeOutOfService(facts(changes))
    const seen: Expected =
      outcome === undefined
        ? 'nothing'
        : outcome.taint
          ? 'taint'
          : outcome.probeDue
            ? 'ask'
            : (outcome.requeueAfter ?? 'wait')
    t.equal(seen, expected)
  })
}

t.test('an answer that could not be had breaks the row', async (t) => {
  const failure = { vCenter: 'vc1', reason: 'TimedOut' as const, message: 'it took too long' }
  const unknown = { state: 'unknown', failure } as const
  const probes = [probe({ moref: unknown, instanceUUID: unknown, biosUUID: unknown })]
  const result = answerAt(MONOTONIC, probes)
  t.equal(judgeOutOfService(facts({ evidence: weigh(LONG_OFF, REQUEST, result) }))?.taint, false)
})

t.test('it is written with its word, and only by a leader that is sure', async (t) => {
  const { settings } = facts()
  const lookup = { state: 'answered', vms: [vm(OFF)] } as const
  const off: NodeFacts = {
    ...settled({ settings, node: NODE }),
    lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup }],
    evidence: LONG_OFF,
    monotonic: MONOTONIC,
    now: MONOTONIC,
  }
  const decision = decide(off)
  t.same(decision.patch?.taints, [SHUTDOWN, OUT_OF_SERVICE])
  t.match(decision.events, [{ reason: 'OutOfService' }])
  t.equal(decision.confirmLease, true)
  t.equal(decision.deletion, undefined)

  const { confirmLease, probePlan, patch } = decide({ ...off, evidence: undefined })
  t.equal(confirmLease, undefined)
  t.equal(patch, undefined)
  t.match(probePlan, { due: true, request: { volumes: false } })
  t.equal(probePlan?.absence, undefined, 'it is off, and not missing')

  const away = { state: 'answered', vms: [vm({ ...OFF, connectionState: 'disconnected' })] } as const
  const unseen = decide({ ...off, lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: away }] })
  t.equal(unseen.patch, undefined)
  t.equal(unseen.probePlan, undefined, 'what was found out is forgotten')
})

t.test(
  'while its machine may run as another VM it is not, and what was found out is forgotten',
  async (t) => {
    const away: NodeFacts['lookups'][number] = {
      vCenter: 'vc2',
      uuid: BIOS_UUID,
      lookup: {
        state: 'unknown',
        failure: { vCenter: 'vc2', reason: 'TimedOut', message: 'it took too long' },
      },
    }
    const hadCopy = {
      type: 'VMUnique',
      status: 'False',
      reason: 'CopyFound',
      message: '',
      lastTransitionTime: '2026-03-01T09:00:00Z',
    } as const
    const formerVMs = [boundVM({ moref: 'vm-99', vCenter: 'vc2', vCenterInstanceUUID: 'another' })]
    type Before = false | 'a copy' | 'another VM'
    const rows: readonly [what: string, lookups: NodeFacts['lookups'], before: Before, isOut: boolean][] = [
      ['another runs', shown(vm(ELSEWHERE)), false, false],
      [
        'or may, on a host that is away',
        shown(vm({ ...ELSEWHERE, connectionState: 'disconnected' })),
        false,
        false,
      ],
      [
        'or was off before its host went away',
        shown(vm({ ...ELSEWHERE, ...OFF, connectionState: 'disconnected' })),
        false,
        false,
      ],
      ['no host has the other one', shown(vm({ ...ELSEWHERE, connectionState: 'orphaned' })), false, true],
      ['in another vCenter', shown(vm({ vCenter: { name: 'vc2', instanceUUID: 'another' } })), false, false],
      ['the other one is off, too', shown(vm({ ...ELSEWHERE, ...OFF })), false, true],
      ['the other one is a template', shown(vm({ ...ELSEWHERE, template: true })), false, true],
      ['another vCenter does not answer', [...shown(), away], false, true],
      ['another vCenter does not answer, and there was a copy', [...shown(), away], 'a copy', false],
      ['there was a copy, and all answer', shown(), 'a copy', true],
      ['another vCenter does not answer, where it failed over from', [...shown(), away], 'another VM', false],
      ['it failed over, and all answer', shown(), 'another VM', true],
    ]
    for (const [what, lookups, had, isOut] of rows) {
      const { settings } = facts()
      const before = settled({ settings, node: NODE })
      const { report } = before
      if (report === undefined) throw new Error('a Node that is settled has a report')
      const conditions = [...(report.status.conditions ?? []), ...(had === 'a copy' ? [hadCopy] : [])]
      const former = had === 'another VM' ? { formerVMs } : {}
      const { patch, probePlan } = decide({
        ...before,
        report: { ...report, status: { ...report.status, ...former, conditions } },
        lookups,
        evidence: LONG_OFF,
        monotonic: MONOTONIC,
        now: MONOTONIC,
      })
      t.equal(patch?.taints?.some(({ key }) => key === OUT_OF_SERVICE.key) === true, isOut, what)
      t.equal(probePlan !== undefined, isOut, what)
    }
  },
)
