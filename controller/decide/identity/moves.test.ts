import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { claimDigest, formatClaim } from '../../../agent/shared/node-report.ts'
import {
  after,
  BIOS_UUID,
  BOOT_ID,
  boundVM,
  decide,
  type FactChanges,
  facts,
  known,
  NODE_UID,
  report,
  settled,
  spec,
  vm,
} from '../../../test/fixtures/facts.ts'
import { absence, probe, seenVM } from '../../../test/fixtures/probes.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import type { NodeFacts } from '../node-facts.ts'
import { MOVES } from './moves.ts'

const MINUTE = 60_000
const REBOOT = { nodeUID: NODE_UID, bootID: '77777777-8888-4777-8666-555555555555', nonce: 'f'.repeat(32) }
const copy = vm({ moref: 'vm-43', name: 'copy', instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b' })
const rebooted = { ...copy, claim: formatClaim(REBOOT) }
const off = vm({ powerState: 'poweredOff' })
const failure = { vCenter: 'vc1', reason: 'Unreachable' as const, message: 'it does not answer' }

/** The facts of a Node that was proven to be vm-42 an hour ago. */
function before(changes: FactChanges = {}): NodeFacts {
  const first = settled()
  return settled({ node: first.node, ...changes, now: first.now + 60 * MINUTE })
}

/** The same after its machine has booted, with a report that says so. */
function withReport(facts: NodeFacts, claim: typeof REBOOT): NodeFacts {
  const value = spec({ bootID: claim.bootID, claim: { ...spec().claim, digest: claimDigest(claim) } })
  return known({ ...facts, report: report({ ...facts.report, generation: 2, spec: { ok: true, value } }) })
}

const showing = (vms: readonly VirtualMachine[]) => facts({ vms }).lookups

/** Decides again and again with what was decided before, until nothing changes. */
function settle(facts: NodeFacts): NodeFacts {
  let now = facts
  for (let turn = 0; turn < 4; turn += 1) now = after(now, decide(now))
  return now
}

function movedTo(facts: NodeFacts): string | undefined {
  return settle(facts).report?.status.vm?.moref
}

/** First these VMs are shown, then the Node's machine boots and those. */
function thenReboots(first: FactChanges, second: FactChanges): NodeFacts {
  const seen = settle(before(first))
  return withReport(known({ ...seen, ...before(second), report: seen.report, node: seen.node }), REBOOT)
}

/** Another vCenter has a VM with its UUID. */
const elsewhere = probe({
  vCenter: 'vc2',
  vCenterInstanceUUID: 'two',
  biosUUID: { state: 'found', vm: seenVM({ moref: 'vm-77' }) },
})

/** Complete evidence that vm-42 is gone, an hour after it was bound. */
const gone = () => absence(before())
const departed = { since: 0, last: 300_000, times: 3, spoke: true }

/** For each move, what it is for, and the attacks that look most like it. */
const ROWS: Record<string, { readonly moves: NodeFacts; readonly stays: Record<string, NodeFacts> }> = {
  Annotated: {
    moves: before({
      vms: [vm(), copy],
      node: { ...settled().node, vmAnnotation: copy.instanceUUID },
    }),
    stays: {
      'a word that names another VM': before({
        vms: [vm(), copy],
        node: { ...settled().node, vmAnnotation: NODE_UID },
      }),
      'two of them have the instance UUID': before({
        vms: [vm(), copy, { ...copy, vCenter: { name: 'vc2', instanceUUID: 'two' } }],
        node: { ...settled().node, vmAnnotation: copy.instanceUUID },
      }),
      'it has the instance UUID itself': before({
        vms: [
          vm(),
          { ...copy, instanceUUID: vm().instanceUUID, vCenter: { name: 'vc2', instanceUUID: 'two' } },
        ],
        node: { ...settled().node, vmAnnotation: vm().instanceUUID },
      }),
      'it has the instance UUID itself, and is not found': before({
        vms: [{ ...copy, instanceUUID: vm().instanceUUID, vCenter: { name: 'vc2', instanceUUID: 'two' } }],
        node: { ...settled().node, vmAnnotation: vm().instanceUUID },
      }),
      'of a VM with other MAC addresses': before({
        vms: [vm(), { ...copy, nics: [{ mac: '00:50:56:8e:00:02' }] }],
        node: { ...settled().node, vmAnnotation: copy.instanceUUID },
      }),
    },
  },
  Gone: {
    moves: before({ vms: [copy], evidence: { ...gone(), departed } }),
    stays: {
      'its machine is silent': before({
        vms: [copy],
        evidence: { ...gone(), departed: { ...departed, spoke: false } },
      }),
      'too few answers': before({
        vms: [copy],
        evidence: { ...gone(), departed: { ...departed, times: 2 } },
      }),
      'over too short a time': before({
        vms: [copy],
        evidence: { ...gone(), departed: { ...departed, since: 1 } },
      }),
      'two copies': before({
        vms: [copy, { ...copy, moref: 'vm-44', instanceUUID: undefined }],
        evidence: { ...gone(), departed },
      }),
      'it is there after all': before({ vms: [copy, vm()], evidence: { ...gone(), departed } }),
      'a copy without the claim': before({
        vms: [{ ...copy, claim: undefined }],
        evidence: { ...gone(), departed },
      }),
      'another that was found just now, and is not shown yet': before({
        vms: [copy],
        evidence: { ...gone(), probes: [probe(), elsewhere], departed },
      }),
    },
  },
  VCenterRemoved: {
    moves: before({
      vms: [{ ...copy, vCenter: { name: 'vc2', instanceUUID: 'two' } }],
      bindingVCenter: 'unconfigured',
    }),
    stays: {
      'it does not answer': before({
        vms: [{ ...copy, vCenter: { name: 'vc2', instanceUUID: 'two' } }],
        bindingVCenter: 'away',
      }),
      'a copy without the claim': before({
        vms: [{ ...copy, claim: undefined, vCenter: { name: 'vc2', instanceUUID: 'two' } }],
        bindingVCenter: 'unconfigured',
      }),
      'a copy without the claim, to which its owner gave the same instance UUID': before({
        vms: [
          {
            ...copy,
            claim: undefined,
            instanceUUID: vm().instanceUUID,
            vCenter: { name: 'vc2', instanceUUID: 'two' },
          },
        ],
        bindingVCenter: 'unconfigured',
      }),
    },
  },
  FailedOver: {
    moves: thenReboots({ vms: [off] }, { vms: [off, rebooted] }),
    stays: {
      'its own claim, copied': known({
        ...settle(before({ vms: [off] })),
        lookups: showing([off, copy]),
      }),
      'the claim of a boot that was seen while it ran': known({
        ...settle(withReport(before({ vms: [vm()] }), REBOOT)),
        lookups: showing([off, rebooted]),
      }),
      'while it runs': thenReboots({ vms: [off] }, { vms: [vm(), rebooted] }),
      'a claim that anybody can make up': thenReboots(
        { vms: [off] },
        { vms: [off, { ...copy, claim: formatClaim({ nodeUID: NODE_UID, bootID: REBOOT.bootID }) }] },
      ),
      'two that show it': thenReboots(
        { vms: [off] },
        { vms: [off, rebooted, { ...rebooted, moref: 'vm-44', instanceUUID: undefined }] },
      ),
    },
  },
  Rebuilt: {
    moves: rebuilt({ providerID: undefined, taints: facts().node.taints }),
    stays: {
      'once it is initialized': rebuilt({}),
      'with the same UUID': known({ ...before({ vms: [copy] }), node: facts().node }),
    },
  },
  FirstProof: {
    moves: known({
      ...settled({ vms: [vm({ claim: undefined })] }),
      ...unproven(),
      lookups: showing([vm({ claim: undefined }), copy]),
    }),
    stays: {
      'once that is long ago': known({
        ...unproven(),
        lookups: showing([vm({ claim: undefined }), copy]),
        now: facts().now + 16 * MINUTE,
      }),
      'both show it': known({ ...unproven(), lookups: showing([vm(), copy]) }),
      'its claim may not be read': known({
        ...unproven(),
        lookups: showing([vm({ claim: undefined, unreadable: ['claim'] }), copy]),
      }),
      'it is off': known({ ...unproven(), lookups: showing([{ ...off, claim: undefined }, copy]) }),
      'it was proven before': before({ vms: [vm({ claim: undefined }), copy] }),
    },
  },
}

/** A Node that was vm-42, and whose agent reports the UUID of vm-43. */
function rebuilt(changes: Partial<NodeFacts['node']>): NodeFacts {
  const uuid = '420e3f74-ea84-f9a2-7736-6106bb5dbf6c'
  const first = before()
  const value = spec({ machine: { serialUUID: uuid } })
  return known({
    ...first,
    node: { ...first.node, ...changes },
    report: report({ ...first.report, generation: 2, spec: { ok: true, value } }),
    lookups: [{ vCenter: 'vc1', uuid, lookup: { state: 'answered', vms: [{ ...copy, biosUUID: uuid }] } }],
  })
}

/** A Node that was bound to vm-42 a moment ago, before it showed a claim. */
function unproven(): NodeFacts {
  const first = facts({ vms: [vm({ claim: undefined })] })
  return after(first, decide(first))
}

for (const { name, leavesFormer } of MOVES) {
  const row = ROWS[name]
  t.test(`a binding moves: ${name}`, async (t) => {
    if (row === undefined) throw new Error(`${name} has no row`)
    const first = decide(row.moves)
    const to = first.status?.vm?.moref
    t.equal(movedTo(row.moves), 'vm-43')
    const { formerVMs } = settle(row.moves).report?.status ?? {}
    if (leavesFormer) t.match(formerVMs, [{ moref: 'vm-42' }], 'what it was counts for a deletion')
    else t.equal(formerVMs, undefined)
    if (to === 'vm-43')
      t.ok(first.events.some(({ type, reason }) => type === 'Warning' && reason === 'VMChanged'))
    for (const [what, facts] of Object.entries(row.stays)) t.equal(movedTo(facts), 'vm-42', `not: ${what}`)
  })
}

t.test('of a Node that no claim can tell, the only VM that may be its own is', async (t) => {
  const value = spec({ claim: { written: false, reason: 'ReadOnly', message: '' } })
  const silent = (facts: NodeFacts): NodeFacts =>
    known({ ...facts, report: report({ ...facts.report, generation: 2, spec: { ok: true, value } }) })
  const there = { ...copy, claim: undefined }
  const moved = before({ vms: [there], evidence: { ...gone(), departed } })
  t.equal(decide(silent(moved)).status?.vm?.moref, 'vm-43', 'it has moved to another vCenter')
  const two = before({ vms: [there, { ...there, moref: 'vm-44' }], evidence: { ...gone(), departed } })
  t.equal(movedTo(silent(two)), 'vm-42')
  const removed = (instanceUUID: string | undefined): NodeFacts =>
    silent(
      before({
        vms: [{ ...there, instanceUUID, vCenter: { name: 'vc2', instanceUUID: 'two' } }],
        bindingVCenter: 'unconfigured',
      }),
    )
  t.equal(movedTo(removed(vm().instanceUUID)), 'vm-43', 'its vCenter was replaced')
  t.equal(movedTo(removed(copy.instanceUUID)), 'vm-42')
  t.equal(movedTo(removed(undefined)), 'vm-42')
})

t.test('a copy that cannot be the machine ends nothing', async (t) => {
  const other = { ...copy, nics: [{ mac: '00:50:56:8e:00:02' }] }
  const decision = decide(before({ vms: [other], evidence: { ...gone(), departed } }))
  t.match(decision.status, { vm: { moref: 'vm-42' }, identityLevel: 'proven' })
  t.match(decision.status?.conditions, [{ type: 'VMFound', reason: 'UUIDOfAnotherVM' }])
  t.notMatch(
    decision.status?.conditions,
    [{ type: 'VMFound', message: /annotate/ }],
    'nor would an annotation',
  )
})

t.test('failed over while nobody looked, and the former VM is seen off afterwards', async (t) => {
  const seen = withReport(before({ vms: [off] }), REBOOT)
  t.equal(movedTo(seen), 'vm-42', 'it may take a while to show the claim')
  t.equal(movedTo(known({ ...settle(seen), lookups: showing([off, rebooted]) })), 'vm-43')
  t.equal(movedTo(withReport(before({ vms: [off, rebooted] }), REBOOT)), 'vm-43')
})

t.test('failed over to another site, while the former vCenter does not answer', async (t) => {
  const there = { ...rebooted, vCenter: { name: 'vc2', instanceUUID: 'two' } }
  const lookups = [
    { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } },
    { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [there] } },
  ] as const
  const away = before({ lookups, bindingVCenter: 'away' })
  t.equal(movedTo(away), 'vm-42', 'not with the claim of a boot that was seen before')
  const there2 = withReport(away, REBOOT)
  t.match(settle(there2).report?.status, { vm: { vCenter: 'vc2' }, formerVMs: [{ vCenter: 'vc1' }] })
  const back = known({ ...settle(there2), lookups: showing([vm()]), bindingVCenter: 'answers' })
  t.match(settle(back).report?.status.vm, { vCenter: 'vc2' }, 'it does not go back by itself')
})

t.test('restored while the former VM is inaccessible', async (t) => {
  const lookups = showing([rebooted])
  const conditions = [
    {
      type: 'VMFound' as const,
      status: 'Unknown' as const,
      reason: 'VMNotSearchable',
      message: '',
      lastTransitionTime: '2026-03-01T10:00:00Z',
    },
  ]
  const first = before({ lookups })
  const marked = known({
    ...first,
    report: report({ ...first.report, status: { ...first.report?.status, conditions } }),
  })
  const found = (state: 'inaccessible' | 'connected') => ({
    ...gone(),
    probes: [probe({ moref: { state: 'found', vm: seenVM({ connectionState: state }) } })],
  })
  const decided = (state: 'inaccessible' | 'connected') =>
    decide(withReport({ ...marked, evidence: found(state) }, REBOOT)).status?.vm?.moref
  t.equal(decided('inaccessible'), 'vm-43')
  t.equal(decided('connected'), 'vm-42', 'it runs, and cannot be found')
})

t.test('an agent of an earlier release keeps the level, and gains none', async (t) => {
  const old = report({
    spec: { ok: true, value: spec({ claim: { written: true, reason: 'Written', message: '' } }) },
  })
  const claim = formatClaim({ nodeUID: NODE_UID, bootID: BOOT_ID })
  const fresh = decide(facts({ report: old, vms: [vm({ claim })] }))
  t.equal(fresh.level, 'reported')
  t.match(
    fresh.status?.conditions?.find(({ type }) => type === 'IdentityVerified'),
    { message: /anybody can make it up.*ClaimOfOlderAgent/ },
  )
  const upgraded = before({ vms: [vm({ claim })] })
  const proven = known({ ...upgraded, report: { ...old, status: upgraded.report?.status ?? {} } })
  t.equal(settle(proven).report?.status.identityLevel, 'proven')
  t.equal(settle(proven).report?.status.provenUntil, undefined)
  for (const bootID of [undefined, REBOOT.bootID]) {
    const other = known({
      ...proven,
      lookups: showing([vm({ claim: formatClaim({ nodeUID: NODE_UID, bootID }) })]),
    })
    t.ok(settle(other).report?.status.provenUntil, 'not with a claim of no boot, or of another')
  }
})

t.test('a copy is told at once, by name, and once more when it is gone', async (t) => {
  const told = before({ vms: [vm(), copy] })
  const decision = decide(told)
  t.equal(decision.level, 'proven')
  t.match(decision.events, [
    { type: 'Warning', reason: 'CopyFound', message: /"copy" \(vm-43\).*claim of VM "worker-1" \(vm-42\)/ },
  ])
  t.same(decision.copies, { vm: 'vc1/vm-42', copies: ['vc1/vm-43'] })
  t.same(decide(after(told, decision)).events, [], 'not again')
  const shut = decide(before({ vms: [off, copy] }))
  t.ok(
    shut.events.some(({ reason }) => reason === 'CopyFound'),
    'also while the VM is off',
  )
  for (const harmless of [
    { powerState: 'poweredOff' },
    { template: true },
    { connectionState: 'orphaned' },
  ] as const)
    t.equal(decide(before({ vms: [vm(), { ...copy, ...harmless }] })).copies, undefined)
  const over = decide({ ...after(told, decision), lookups: showing([vm()]) })
  t.match(
    over.status?.conditions?.find(({ type }) => type === 'VMUnique'),
    { status: 'True', reason: 'NoCopy' },
  )
})

t.test('the docs have each move', async (t) => {
  const docs = readFileSync(join(import.meta.dirname, '../../../docs/lifecycle.md'), 'utf8')
  for (const { name } of MOVES) t.match(docs, new RegExp(`^\\| \`${name}\` \\|`, 'm'), name)
})

t.test('a deletion looks for each VM that the Node was', async (t) => {
  const moved = settle(thenReboots({ vms: [off] }, { vms: [off, rebooted] }))
  t.match(moved.machines?.machines, [{ moref: 'vm-43' }, { moref: 'vm-42' }])
  t.match(boundVM(), { moref: 'vm-42' })
})
