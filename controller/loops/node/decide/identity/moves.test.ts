import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { claimDigest, formatClaim } from '../../../../../agent/shared/node-report.ts'
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
  SETTINGS,
  SWAPPED_UUID,
  settled,
  spec,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import { absence, probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import { type Lookup, vmsOf } from '../../../../types/inventory.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { NodeFacts } from '../node-facts.ts'
import { MOVES } from './moves.ts'

const MINUTE = 60_000
const TWO = { name: 'vc2', instanceUUID: 'two' }
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

const foundOff = { state: 'found', vm: seenVM({ moref: 'vm-77', powerState: 'poweredOff' }) } as const
const foundTwo = { state: 'found', vm: seenVM({ moref: 'vm-43' }), others: ['vm-77'] } as const
/** `elsewhere`, as the second vCenter's inventory answers beside the copy here. */
const besides = (lookup: Lookup, here = copy) => [
  ...showing([here]),
  { vCenter: 'vc2', uuid: BIOS_UUID, lookup },
  { vCenter: 'vc2', uuid: SWAPPED_UUID, lookup: NONE },
]
const NONE: Lookup = { state: 'answered', vms: [] }

/** Complete evidence that vm-42 is gone, an hour after it was bound. */
const gone = () => absence(before())
const departed = { since: 0, last: 300_000, times: 3, spoke: true }

const OWN = vm().instanceUUID
/** These VMs are shown now. */
const seen = (...vms: readonly VirtualMachine[]) => before({ vms })
/** The same, once the Node's own is proven gone. */
const departs = (vms: readonly VirtualMachine[], changes: Partial<typeof departed> = {}) =>
  before({ vms, evidence: { ...gone(), departed: { ...departed, ...changes } } })
/** The same, of which a person names one by its instance UUID. */
const named = (vmAnnotation: string | undefined, ...vms: readonly VirtualMachine[]) =>
  before({ vms, node: { ...settled().node, vmAnnotation } })
/** One of another vCenter is shown, while this becomes of the Node's own. */
const beyond = (state: 'unconfigured' | 'away', changes: Partial<VirtualMachine> = {}) =>
  before({ vms: [{ ...copy, vCenter: TWO, ...changes }], vCenterState: () => state })
/** It is off, and these are shown when the machine has booted. */
const overTo = (...vms: readonly VirtualMachine[]) => thenReboots({ vms: [off] }, { vms })

/** A copy elsewhere was found, and now its vCenter does not answer while the VM is registered again. */
const foundBefore = (): NodeFacts => {
  const { node, report } = settle(before({ vms: [vm(), { ...vm({ moref: 'vm-9' }), vCenter: TWO }] }))
  const unknown: Lookup = { state: 'unknown', failure: { ...failure, vCenter: 'vc2' } }
  return known({ ...before({ lookups: besides(unknown, vm({ moref: 'vm-43' })) }), node, report })
}

/** For each move, what it is for, and the attacks that look most like it. */
const ROWS: Record<string, { readonly moves: NodeFacts; readonly stays: Record<string, NodeFacts> }> = {
  RegisteredAgain: {
    moves: seen(vm({ moref: 'vm-43' })),
    stays: {
      'a copy that took its instance UUID while it was away': seen(vm({ moref: 'vm-43', claim: undefined })),
      'beside the VM that shows the claim elsewhere': seen(vm({ moref: 'vm-43', claim: undefined }), {
        ...copy,
        moref: 'vm-9',
        vCenter: TWO,
      }),
      'where another was found to show the claim, and is not seen now because its vCenter does not answer':
        foundBefore(),
      'of another vCenter': seen(vm({ moref: 'vm-43', vCenter: TWO })),
      'while the VM itself is there, even off': seen(vm({ moref: 'vm-43' }), off),
      'an entry that no host has': seen(vm({ moref: 'vm-43', connectionState: 'orphaned' })),
      'an entry whose host is away': seen(vm({ moref: 'vm-43', connectionState: 'disconnected' })),
      'beside one that was found just now, and is not shown yet': before({
        lookups: besides(NONE, vm({ moref: 'vm-43' })),
        evidence: { ...gone(), probes: [probe(), elsewhere] },
      }),
      'beside one that the same search has found, and that is not shown yet': before({
        vms: [vm({ moref: 'vm-43' })],
        evidence: { ...gone(), probes: [probe({ biosUUID: foundTwo })] },
      }),
    },
  },
  Annotated: {
    moves: named(copy.instanceUUID, vm(), copy),
    stays: {
      'a word that names another VM': named(NODE_UID, vm(), copy),
      'two of them have the instance UUID': named(copy.instanceUUID, vm(), copy, { ...copy, vCenter: TWO }),
      'it has the instance UUID itself': named(OWN, vm(), { ...copy, instanceUUID: OWN, vCenter: TWO }),
      'it has the instance UUID itself, and is not found': named(OWN, {
        ...copy,
        instanceUUID: OWN,
        vCenter: TWO,
      }),
      'a word that was obeyed before': obeyed({ vms: [vm(), copy] }),
      'while a vCenter does not answer': before({
        lookups: [
          ...showing([vm(), copy]),
          { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } },
        ],
        node: { ...settled().node, vmAnnotation: copy.instanceUUID },
      }),
      'of a VM with other MAC addresses': named(copy.instanceUUID, vm(), {
        ...copy,
        nics: [{ mac: '00:50:56:8e:00:02' }],
      }),
    },
  },
  Gone: {
    moves: departs([copy]),
    stays: {
      'its machine is silent': departs([copy], { spoke: false }),
      'too few answers': departs([copy], { times: 2 }),
      'over too short a time': departs([copy], { since: 1 }),
      'two copies': departs([copy, { ...copy, moref: 'vm-44', instanceUUID: undefined }]),
      'it is there after all': departs([copy, vm()]),
      'a copy without the claim': departs([{ ...copy, claim: undefined }]),
      'another that was found just now, and is not shown yet': before({
        vms: [copy],
        lookups: besides(NONE),
        evidence: { ...gone(), probes: [probe(), elsewhere], departed },
      }),
      'another that runs by a probe, and is still shown off': before({
        lookups: besides({
          state: 'answered',
          vms: [
            vm({ moref: 'vm-77', powerState: 'poweredOff', vCenter: { name: 'vc2', instanceUUID: 'two' } }),
          ],
        }),
        evidence: { ...gone(), probes: [probe(), elsewhere], departed },
      }),
      'the same, and nothing was answered yet': before({
        lookups: besides({ state: 'pending' }),
        evidence: { ...gone(), probes: [probe(), elsewhere], departed },
      }),
    },
  },
  VCenterRemoved: {
    moves: beyond('unconfigured'),
    stays: {
      'it does not answer': beyond('away'),
      'a copy without the claim': beyond('unconfigured', { claim: undefined }),
      'a copy without the claim, to which its owner gave the same instance UUID': beyond('unconfigured', {
        claim: undefined,
        instanceUUID: OWN,
      }),
    },
  },
  FailedOver: {
    moves: overTo(off, rebooted),
    stays: {
      'its own claim, copied': known({ ...settle(seen(off)), lookups: showing([off, copy]) }),
      'its own claim, copied to one that was taken for it before': known({
        ...settle(known({ ...regained(), lookups: showing([off, copy]) })),
        lookups: showing([{ ...off, claim: undefined }, copy]),
      }),
      'the claim of a boot that was seen while it ran': known({
        ...settle(withReport(seen(vm({ claim: formatClaim(REBOOT) })), REBOOT)),
        lookups: showing([off, rebooted]),
      }),
      'while it runs': overTo(vm(), rebooted),
      'it is not shown, and another that is off is found by its UUID': thenReboots(
        { vms: [off] },
        { vms: [rebooted], evidence: absence(before(), { probes: [probe({ biosUUID: foundOff })] }) },
      ),
      'a claim that anybody can make up': overTo(off, {
        ...copy,
        claim: formatClaim({ nodeUID: NODE_UID, bootID: REBOOT.bootID }),
      }),
      'two that show it': overTo(off, rebooted, { ...rebooted, moref: 'vm-44', instanceUUID: undefined }),
    },
  },
  Rebuilt: {
    moves: rebuilt({ providerID: undefined, taints: facts().node.taints }),
    stays: {
      'once it is initialized': rebuilt({}),
      'with the same UUID': known({ ...seen(copy), node: facts().node }),
    },
  },
  FirstProof: {
    moves: known({
      ...settled({ vms: [vm({ claim: undefined })] }),
      ...unproven(),
      lookups: showing([vm({ claim: undefined }), copy]),
    }),
    stays: {
      'both show it': known({ ...unproven(), lookups: showing([vm(), copy]) }),
      'its claim may not be read': known({
        ...unproven(),
        lookups: showing([vm({ claim: undefined, unreadable: ['claim'] }), copy]),
      }),
      'it was proven before': seen(vm({ claim: undefined }), copy),
    },
  },
}

/** A Node that was named vm-43 and obeyed it, and is vm-42 since then. */
function obeyed(changes: FactChanges): NodeFacts {
  const first = before(changes)
  const status = { ...first.report?.status, obeyedAnnotation: copy.instanceUUID ?? '' }
  return known({
    ...first,
    node: { ...first.node, vmAnnotation: copy.instanceUUID },
    report: report({ ...first.report, status }),
  })
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

/** A Node that was bound to vm-43 while vCenter did not show vm-42, and is vm-42 since that shows its claim. */
function regained(): NodeFacts {
  const taken = settle(facts({ vms: [{ ...copy, claim: undefined }] }))
  return settle(known({ ...taken, lookups: showing([vm(), { ...copy, claim: undefined }]) }))
}

/** A Node that was bound to vm-42 a moment ago, before it showed a claim. */
function unproven(): NodeFacts {
  const first = facts({ vms: [vm({ claim: undefined })] })
  return after(first, decide(first))
}

for (const { name, former } of MOVES) {
  const row = ROWS[name]
  t.test(`a binding moves: ${name}`, async (t) => {
    if (row === undefined) throw new Error(`${name} has no row`)
    const first = decide(row.moves)
    const to = first.status?.vm?.moref
    t.equal(movedTo(row.moves), 'vm-43')
    const { formerVMs } = settle(row.moves).report?.status ?? {}
    if (former === 'kept') t.match(formerVMs, [{ moref: 'vm-42' }], 'what it was counts for a deletion')
    else t.equal(formerVMs, undefined)
    if (to === 'vm-43')
      t.match(
        first.events.filter(({ reason }) => reason === 'VMChanged'),
        [{ type: former === 'same' ? 'Normal' : 'Warning' }],
      )
    for (const [what, facts] of Object.entries(row.stays)) t.equal(movedTo(facts), 'vm-42', `not: ${what}`)
  })
}

t.test('of a Node that no claim can tell, the only VM that may be its own is', async (t) => {
  const value = spec({ claim: { written: false, reason: 'ReadOnly', message: '' } })
  const silent = (facts: NodeFacts): NodeFacts =>
    known({ ...facts, report: report({ ...facts.report, generation: 2, spec: { ok: true, value } }) })
  const kept = vm().instanceUUID
  const there = { ...copy, claim: undefined, instanceUUID: kept, vCenter: TWO }
  const moved = departs([there])
  t.equal(decide(silent(moved)).status?.vm?.moref, 'vm-43', 'it has moved to another vCenter')
  const two = departs([there, { ...there, moref: 'vm-44' }])
  t.equal(movedTo(silent(two)), 'vm-42')
  const copied = departs([{ ...copy, claim: undefined }])
  t.equal(movedTo(silent(copied)), 'vm-42', 'a copy that its owner made')
  const removed = (instanceUUID: string | undefined): NodeFacts =>
    silent(
      before({
        vms: [{ ...there, instanceUUID, vCenter: TWO }],
        vCenterState: () => 'unconfigured' as const,
        evidence: gone(),
      }),
    )
  t.equal(movedTo(removed(vm().instanceUUID)), 'vm-43', 'its vCenter was replaced')
  t.equal(movedTo(removed(copy.instanceUUID)), 'vm-42')
  t.equal(movedTo(removed(undefined)), 'vm-42')
  const unasked = silent(before({ vms: [there], vCenterState: () => 'unconfigured' as const }))
  t.equal(movedTo(unasked), 'vm-42', 'before anybody has asked for others')
})

t.test('it is said what makes a Node another VM, and what a person can do', async (t) => {
  const value = spec({ claim: { written: true, reason: 'Written', message: '' } })
  const old = (facts: NodeFacts): NodeFacts =>
    known({ ...facts, report: report({ ...facts.report, generation: 2, spec: { ok: true, value } }) })
  const said = (facts: NodeFacts): string | undefined =>
    decide(facts).status?.conditions?.find(({ type }) => type === 'VMFound')?.message
  const gone = 'unconfigured' as const
  const there = { ...copy, claim: undefined, vCenter: TWO }
  const its = (state: 'answers' | 'unconfigured', ...vms: readonly VirtualMachine[]) =>
    before({ vms, vCenterState: () => state })
  const annotate = (name: string) => new RegExp(`kubectl annotate node worker-1 rollcall.dev/vm=${name}$`)
  t.match(
    said(its('answers', there)),
    /until that VM is proven gone and the Node's agent reports again\. Only if/,
  )
  t.match(said(its('answers', there)), annotate(copy.instanceUUID ?? ''))
  t.match(
    said(its(gone, there)),
    /is no longer configured.*until exactly one VM shows the claim of the Node's agent\. Only/,
  )
  for (const state of ['answers', gone] as const)
    t.match(said(old(its(state, there))), /no claim with a nonce.*install one of this release/)
  const [same, twin] = [
    { ...there, instanceUUID: OWN },
    { ...there, moref: 'vm-44', instanceUUID: OWN },
  ]
  t.match(said(its(gone, same)), annotate(OWN ?? ''), 'though it is the same instance UUID')
  t.notMatch(said(its('answers', same)), /annotate/, 'which may be of the VM itself')
  t.match(said(old(its(gone, same, { ...twin, instanceUUID: copy.instanceUUID }))), annotate('INSTANCE-UUID'))
  t.match(said(old(its(gone, same, twin))), /no claim with a nonce/)
  const squatter = vm({ moref: 'vm-45', name: 'squatter', nics: [{ mac: '00:50:56:8e:00:02' }] })
  t.match(
    said(its('answers', there, squatter)),
    /"copy" \(vm-43\) in vCenter vc2 has its BIOS UUID.*; for that, remove VM "squatter".*instance UUID\. Only if/,
  )
  const obeyed = its(gone, same)
  const word = known({ ...obeyed, node: { ...obeyed.node, vmAnnotation: OWN } })
  t.equal(movedTo(word), 'vm-43', 'and a person may say so')
  t.equal(movedTo(known({ ...word, vCenterState: () => 'answers' as const })), 'vm-42')
})

t.test('a machine that was rebuilt under its name, and one of two: it is said what decides', async (t) => {
  const first = rebuilt({ providerID: undefined, taints: facts().node.taints })
  const [lookup] = first.lookups.map((each) => vmsOf(each.lookup))
  const [made] = lookup ?? []
  if (made === undefined) throw new Error('one is shown')
  const vms = [
    { ...made, claim: undefined },
    { ...made, moref: 'vm-44', claim: undefined },
  ]
  const two = {
    ...first,
    lookups: first.lookups.map((each) => ({ ...each, lookup: { state: 'answered', vms } as const })),
  }
  t.equal(movedTo(two), 'vm-42')
  t.match(
    decide(two).status?.conditions?.find(({ type }) => type === 'VMFound'),
    {
      reason: 'UUIDOfAnotherVM',
      message: /once every vCenter has answered and that VM is the only one.*rollcall.dev\/vm=/,
    },
  )
})

t.test('one that is found and will never be shown does not keep the VM that shows the claim', async (t) => {
  for (const [what, lookup] of [
    ['it may not be read', { ...NONE, incomplete: failure }],
    ['none there may be', { state: 'unknown', failure, alone: true }],
  ] as const) {
    const evidence = { ...gone(), probes: [probe(), elsewhere], departed }
    t.equal(movedTo(before({ lookups: besides(lookup), evidence })), 'vm-43', what)
  }
})

t.test('a copy that cannot be the machine ends nothing', async (t) => {
  const other = { ...copy, nics: [{ mac: '00:50:56:8e:00:02' }] }
  const decision = decide(departs([other]))
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
  const there = { ...rebooted, vCenter: TWO }
  const lookups = [
    { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } },
    { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [there] } },
  ] as const
  const away = before({ lookups, vCenterState: () => 'away' as const })
  t.equal(movedTo(away), 'vm-42', 'not with the claim of a boot that was seen before')
  const there2 = withReport(away, REBOOT)
  t.match(settle(there2).report?.status, { vm: { vCenter: 'vc2' }, formerVMs: [{ vCenter: 'vc1' }] })
  const back = known({ ...settle(there2), lookups: showing([vm()]), vCenterState: () => 'answers' as const })
  t.match(settle(back).report?.status.vm, { vCenter: 'vc2' }, 'it does not go back by itself')
})

t.test('a dead entry gives way to the living one of the same VM', async (t) => {
  const living = vm({ moref: 'vm-43' })
  const silent = { ...spec().claim, written: false, digest: undefined }
  for (const connectionState of ['orphaned', 'invalid'] as const) {
    const dead = vm({ connectionState })
    t.equal(movedTo(before({ vms: [dead, living] })), 'vm-43', 'though it still shows the claim')
    const copied = { ...copy, claim: vm().claim }
    t.equal(movedTo(before({ vms: [dead, copied] })), 'vm-42', 'not to a copy that shows it, too')
    t.equal(movedTo(before({ vms: [dead, living, copied] })), 'vm-42', 'nor beside one')
    t.equal(movedTo(before({ vms: [dead, { ...living, claim: undefined }] })), 'vm-42', 'nor without it')
    // An agent that cannot write guestinfo.
    const { digest: _, ...claim } = silent
    const value = { ok: true, value: spec({ claim }) } as const
    const first = settle(
      known({ ...facts({ vms: [vm({ claim: undefined })] }), report: report({ spec: value }) }),
    )
    const without = (...vms: readonly VirtualMachine[]) =>
      known({ ...first, lookups: showing(vms.map((each) => ({ ...each, claim: undefined }))) })
    t.equal(movedTo(without(dead, living)), 'vm-43')
    t.equal(
      after(without(dead, living), decide(without(dead, living))).report?.status.vm?.moref,
      'vm-42',
      'not at once',
    )
    t.equal(movedTo(without(dead, copy)), 'vm-42', 'a copy has an instance UUID of its own')
    t.equal(movedTo(without(dead, living, copy)), 'vm-42')
  }
  for (const connectionState of ['disconnected', 'inaccessible'] as const)
    t.equal(movedTo(before({ vms: [vm({ connectionState }), living] })), 'vm-42', 'which may run')
})

t.test('restored under another instance UUID, beside the dead entry that it was', async (t) => {
  const beside = (connectionState: 'orphaned' | 'inaccessible', ...vms: readonly VirtualMachine[]) => {
    const former = vm({ connectionState, claim: undefined })
    return known({ ...settle(before({ vms: [former] })), lookups: showing([former, ...vms]) })
  }
  t.equal(movedTo(beside('orphaned', copy)), 'vm-43', 'no new boot is needed')
  t.equal(movedTo(beside('inaccessible', copy)), 'vm-42', 'but it is where the former may run')
  t.equal(movedTo(beside('orphaned', { ...copy, claim: undefined })), 'vm-42')
  t.equal(movedTo(beside('orphaned', copy, { ...copy, moref: 'vm-44', instanceUUID: undefined })), 'vm-42')
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

t.test('a VM that is only read again is not asked about as if it were not found', async (t) => {
  const other = '511e3f74-ea84-f9a2-7736-6106bb5dbf6c'
  const value = spec({ machine: { serialUUID: other } })
  const probed = (lookup: Lookup) => {
    const lookups = [
      { vCenter: 'vc1', uuid: BIOS_UUID, lookup },
      { vCenter: 'vc1', uuid: other, lookup: { state: 'answered', vms: [{ ...copy, biosUUID: other }] } },
    ] as const
    const first = before({ lookups })
    const of = report({ ...first.report, generation: 2, spec: { ok: true, value } })
    // What follows from the machine's state comes after the contradiction is told.
    return decide(settle(known({ ...first, report: of }))).probePlan?.request.vm.moref
  }
  t.equal(probed(NONE), 'vm-42')
  t.equal(probed({ state: 'pending' }), undefined)
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
  t.notMatch(shut.events, [{ message: /out of service/ }])
  const lifecycle = { ...SETTINGS.lifecycle, outOfServiceAfter: 600_000 }
  const kept = decide({ ...before({ vms: [off, copy] }), settings: { ...SETTINGS, lifecycle } })
  t.match(
    kept.events.find(({ reason }) => reason === 'CopyFound'),
    {
      message:
        /nothing for the Node, except that it is not marked out of service while a copy may be running\. Find/,
    },
  )
  for (const harmless of [
    { powerState: 'poweredOff' },
    { template: true },
    { connectionState: 'orphaned' },
  ] as const)
    t.equal(decide(before({ vms: [vm(), { ...copy, ...harmless }] })).copies, undefined)
  for (const connectionState of ['disconnected', 'inaccessible'] as const) {
    const old = { ...copy, connectionState }
    t.equal(decide(before({ vms: [vm(), { ...old, instanceUUID: vm().instanceUUID }] })).copies, undefined)
    t.not(decide(before({ vms: [vm(), old] })).copies, undefined, 'not an entry of the same VM')
  }
  const dead = decide(
    before({ vms: [vm({ connectionState: 'orphaned' }), { ...copy, vCenter: TWO, claim: vm().claim }] }),
  )
  t.match(
    dead.events.find(({ reason }) => reason === 'CopyFound'),
    {
      message:
        /No host has VM "worker-1" \(vm-42\).* any more \(orphaned\): .* set the annotation rollcall\.dev\/vm/,
    },
    'the living one is not to be removed',
  )
  const over = decide({ ...after(told, decision), lookups: showing([vm()]) })
  t.match(
    over.status?.conditions?.find(({ type }) => type === 'VMUnique'),
    { status: 'True', reason: 'NoCopy' },
  )
})

t.test('the docs have each move', async (t) => {
  const docs = readFileSync(join(import.meta.dirname, '../../../../../docs/lifecycle.md'), 'utf8')
  for (const { name } of MOVES) t.match(docs, new RegExp(`^\\| \`${name}\` \\|`, 'm'), name)
})

t.test('a deletion looks for each VM that the Node was', async (t) => {
  const moved = settle(thenReboots({ vms: [off] }, { vms: [off, rebooted] }))
  t.match(moved.machines?.machines, [{ moref: 'vm-43' }, { moref: 'vm-42' }])
  t.match(boundVM(), { moref: 'vm-42' })
})

t.test('of a Fault Tolerance group both must have named each other', async (t) => {
  const claims = (one: VirtualMachine, role: number): VirtualMachine => ({
    ...one,
    faultTolerance: { role, instanceUUIDs: [copy.instanceUUID ?? '', vm().instanceUUID ?? ''] },
  })
  const forged = claims(copy, 1)
  for (const vms of [[off, forged], [vm(), forged], [forged]])
    t.equal(movedTo(before({ vms })), 'vm-42', 'it named itself')
  t.match(decide(facts({ vms: [vm(), { ...forged, claim: undefined }] })).status?.vm, { moref: 'vm-42' })
  const group = settle(before({ vms: [claims(vm(), 1), claims({ ...copy, claim: undefined }, 2)] }))
  t.match(group.report?.status.vm?.group, [copy.instanceUUID, vm().instanceUUID])
  t.equal(movedTo(known({ ...group, lookups: showing([claims(copy, 1)]) })), 'vm-43', 'after a failover')
})

t.test('a failover and back, in either order', async (t) => {
  const there = { ...rebooted, vCenter: TWO }
  const over = settle(thenReboots({ vms: [off] }, { vms: [off, there] }))
  t.equal(over.report?.status.vm?.moref, 'vm-43')
  const BACK = { ...REBOOT, nonce: 'e'.repeat(32) }
  const home = vm({ claim: formatClaim(BACK) })
  const thereOff = { ...there, powerState: 'poweredOff' as const }
  const offFirst = settle(known({ ...over, lookups: showing([off, thereOff]) }))
  t.equal(movedTo(withReport(known({ ...offFirst, lookups: showing([home, thereOff]) }), BACK)), 'vm-42')
  const onFirst = settle(withReport(known({ ...over, lookups: showing([home, there]) }), BACK))
  t.equal(onFirst.report?.status.vm?.moref, 'vm-43', 'both run')
  const then = settle(known({ ...onFirst, lookups: showing([home, thereOff]) }))
  t.equal(then.report?.status.vm?.moref, 'vm-42')
  t.match(then.report?.status.formerVMs, [{ moref: 'vm-43' }])
})

t.test('a former VM whose vCenter was taken out of the configuration is forgotten', async (t) => {
  const over = settle(thenReboots({ vms: [off] }, { vms: [off, rebooted] }))
  t.match(over.report?.status.formerVMs, [{ moref: 'vm-42' }])
  const without = known({ ...over, vCenterState: () => 'unconfigured' })
  t.equal(settle(without).report?.status.formerVMs, undefined)
})

t.test('a password of ours that expired is no failover', async (t) => {
  const there = { ...rebooted, vCenter: TWO }
  const lookups = [
    { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } },
    { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [there] } },
  ] as const
  const refused = withReport(before({ lookups, vCenterState: () => 'refuses' }), REBOOT)
  t.equal(movedTo(refused), 'vm-42')
})

t.test('a copy that is off and shows the claim holds up nobody', async (t) => {
  const idle = { ...copy, powerState: 'poweredOff' as const }
  t.match(decide(facts({ vms: [vm(), idle] })), { level: 'proven', status: { vm: { moref: 'vm-42' } } })
  t.equal(
    movedTo(thenReboots({ vms: [off] }, { vms: [off, rebooted, { ...rebooted, ...idle, moref: 'vm-44' }] })),
    'vm-43',
  )
})

t.test('whoever took a Node with a claim that anybody can make up gives it back', async (t) => {
  const forged = { ...copy, claim: formatClaim({ nodeUID: NODE_UID, bootID: BOOT_ID }) }
  const old = report({
    spec: { ok: true, value: spec({ claim: { written: true, reason: 'Written', message: '' } }) },
  })
  const taken = settle(facts({ report: old, vms: [forged] }))
  t.equal(taken.report?.status.vm?.moref, 'vm-43')
  const upgraded = known({
    ...taken,
    report: report({ ...taken.report, spec: report().spec }),
    lookups: showing([vm(), forged]),
  })
  t.equal(movedTo(upgraded), 'vm-42')
})

t.test('nothing that the owner of a copy does changes what a Node is', async (t) => {
  const group = [copy.instanceUUID ?? '', vm().instanceUUID ?? '']
  const copies: readonly VirtualMachine[] = [
    copy,
    rebooted,
    { ...copy, claim: undefined },
    { ...copy, claim: formatClaim({ nodeUID: NODE_UID, bootID: BOOT_ID }) },
    { ...copy, instanceUUID: vm().instanceUUID },
    { ...copy, faultTolerance: { role: 1, instanceUUIDs: group } },
    { ...copy, faultTolerance: { role: 2, instanceUUIDs: group } },
    { ...copy, template: true },
  ]
  const states = ['connected', 'disconnected', 'inaccessible', 'orphaned', 'invalid'] as const
  const powers = ['poweredOn', 'poweredOff', 'suspended'] as const
  const victims = [vm(), off, vm({ claim: undefined }), vm({ connectionState: 'disconnected' })]
  for (const victim of victims) {
    const alone = settle(before({ vms: [victim] }))
    const expected = [alone.report?.status.vm?.moref, alone.node.taints, alone.node.labels]
    for (const one of copies)
      for (const connectionState of states)
        for (const powerState of powers)
          for (const first of [true, false]) {
            const twin = { ...one, connectionState, powerState }
            const both = settle(
              known({ ...alone, lookups: showing(first ? [twin, victim] : [victim, twin]) }),
            )
            t.same(
              [both.report?.status.vm?.moref, both.node.taints, both.node.labels],
              expected,
              `${victim.powerState} ${one.claim} ${connectionState} ${powerState}`,
            )
          }
  }
})
