import t from 'tap'
import { claimDigest, formatClaim, type IdentityLevel } from '../../../../../agent/shared/node-report.ts'
import {
  after,
  BIOS_UUID,
  BOOT_ID,
  boundVM,
  decide,
  facts,
  MAC,
  NODE_UID,
  node,
  report,
  SETTINGS,
  SWAPPED_UUID,
  settled,
  spec,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import type { DecisionConfig } from '../../../../config/config.ts'
import { parseLabelSelector } from '../../../../config/label-selector.ts'
import { LABEL_IDENTITY_LEVEL } from '../../../../types/well-known.ts'
import { agentlessReport } from '../../facts/previous-status.ts'
import type { Decision } from '../decision.ts'
import type { NodeFacts, Rival } from '../node-facts.ts'

const OTHER_UID = '22222222-2222-4333-8444-555555555555'
const OTHER_BOOT = '77777777-8888-4777-8666-555555555555'
const MINUTE = 60_000

function condition(decision: Decision) {
  return decision.status?.conditions?.find(({ type }) => type === 'IdentityVerified')
}

function reported(changes: Parameters<typeof spec>[0]): NodeFacts['report'] {
  return report({ spec: { ok: true, value: spec(changes) } })
}

function requiring(require: IdentityLevel, exempt?: string): DecisionConfig {
  const selector = exempt === undefined ? undefined : parseLabelSelector(exempt)
  const exempted = selector?.ok === true ? selector.value : undefined
  return { ...SETTINGS, identity: { ...SETTINGS.identity, require, exempt: exempted } }
}

/** The claim names a Node that exists, and is known to be this VM, another, or none yet. */
function names(
  boundTo: ReturnType<typeof boundVM> | undefined,
  uuids: readonly string[] = [BIOS_UUID],
): NodeFacts['nodeByUID'] {
  return (uid) => (uid === OTHER_UID ? { name: 'other', boundTo, uuids } : undefined)
}

const notWritten = (reason: string) =>
  reported({ claim: { written: false, reason, message: 'words of the agent' } })

/** A new Node whose VM shows this claim. */
const claiming = (claim: string | undefined, changes: Parameters<typeof facts>[0] = {}) =>
  facts({ vms: [vm({ claim })], ...changes })
const ofOther = `v1 ${OTHER_UID} -`

/** Each with the level and the reason that it gets, and words of the message. */
const LEVELS: readonly (readonly [string, NodeFacts, IdentityLevel | undefined, string, RegExp])[] = [
  ['the VM names this Node and this boot', facts(), 'proven', 'Proven', /itself names/],
  [
    'the claim has not come yet',
    claiming(undefined),
    ...(['reported', 'Reported', /seconds to minutes.*ClaimNotSeenYet/] as const),
  ],
  [
    'the claim may not be read',
    facts({ vms: [vm({ claim: undefined, unreadable: ['claim'] })] }),
    ...(['reported', 'Reported', /account is not allowed to read.*ClaimUnreadable/] as const),
  ],
  ...(['ToolMissing', 'PermissionDenied', 'Disabled', 'TimedOut', 'NotKept', 'Failed'] as const).map(
    (reason) =>
      [
        `the agent could not write it: ${reason}`,
        claiming(undefined, { report: notWritten(reason) }),
        ...(['reported', 'Reported', new RegExp(`words of the agent.*Claim${reason}`)] as const),
      ] as const,
  ),
  [
    'a claim of another boot',
    claiming(`v1 ${NODE_UID} ${OTHER_BOOT}`),
    ...(['reported', 'Reported', /another boot.*ClaimOfEarlierBoot/] as const),
  ],
  [
    'a claim of a Node that is gone',
    claiming(`v1 ${OTHER_UID} ${BOOT_ID}`),
    ...(['reported', 'Reported', /template.*ClaimOfFormerNode/] as const),
  ],
  [
    'a claim that came with a clone',
    claiming(`v1 ${OTHER_UID} ${OTHER_BOOT}`, {
      nodeByUID: names(boundVM({ moref: 'vm-7', instanceUUID: OTHER_UID })),
    }),
    ...(['reported', 'Reported', /Node other.*vm-7.*clone.*ClaimCopied/] as const),
  ],
  [
    'something else in its place',
    claiming('hello'),
    ...(['reported', 'Reported', /5 characters.*ClaimMalformed/] as const),
  ],
  [
    'a claim of another Node, which is this VM',
    claiming(ofOther, { nodeByUID: names(boundVM()) }),
    ...([undefined, 'ClaimedByAnotherNode', /Node other/] as const),
  ],
  [
    'a claim of another Node, which is this VM under a new reference',
    claiming(ofOther, { nodeByUID: names(boundVM({ moref: 'vm-7' })) }),
    ...([undefined, 'ClaimedByAnotherNode', /Node other/] as const),
  ],
  [
    'a claim of another Node, which points elsewhere',
    claiming(ofOther, { nodeByUID: names(undefined, [OTHER_UID]) }),
    ...(['reported', 'Reported', /Node other.*ClaimOfOtherNode/] as const),
  ],
  [
    'the VM is off, and was not this Node before',
    facts({ vms: [vm({ powerState: 'poweredOff' })] }),
    ...([undefined, 'VMNotRunning', /poweredOff/] as const),
  ],
  ['the VM is off, and was', settled({ vms: [vm({ powerState: 'suspended' })] }), 'proven', 'Proven', /./],
  [
    'its host is disconnected: the last known state is none',
    facts({ vms: [vm({ powerState: 'poweredOff', connectionState: 'disconnected' })] }),
    ...(['proven', 'Proven', /./] as const),
  ],
  [
    'a claim of another Node, which points to this VM and is not verified',
    claiming(ofOther, { nodeByUID: names(undefined) }),
    ...([undefined, 'ClaimedByAnotherNode', /Node other/] as const),
  ],
  [
    'no MAC of the guest is a vNIC, whatever the claim says',
    facts({ vms: [vm({ nics: [] })] }),
    ...([undefined, 'MACsContradict', new RegExp(MAC)] as const),
  ],
  [
    'product_uuid as it is in the serial number',
    facts({ report: reported({ machine: { serialUUID: BIOS_UUID, productUUID: BIOS_UUID } }) }),
    ...(['proven', 'Proven', /./] as const),
  ],
  [
    'product_uuid could not be read',
    facts({ report: reported({ machine: { serialUUID: BIOS_UUID } }) }),
    ...(['proven', 'Proven', /./] as const),
  ],
]

for (const [name, given, level, reason, message] of LEVELS) {
  t.test(name, async (t) => {
    const decision = decide(given)
    t.equal(decision.level, level)
    t.match(condition(decision), { status: level === undefined ? 'False' : 'True', reason, message })
    t.equal(decision.status?.identityLevel, level)
    const before = given.node.labels[LABEL_IDENTITY_LEVEL]
    t.equal(decision.patch?.labels?.[LABEL_IDENTITY_LEVEL] ?? before, level)
  })
}

t.test('a late claim raises the level, and that is said', async (t) => {
  const early = facts({ vms: [vm({ claim: undefined })] })
  const first = decide(early)
  const late = decide({ ...after(early, first), lookups: facts().lookups })
  t.equal(late.level, 'proven')
  t.same(late.patch, { labels: { [LABEL_IDENTITY_LEVEL]: 'proven' } })
  t.match(late.events, [{ type: 'Normal', reason: 'Proven', message: /rises from reported to proven/ }])
})

t.test('a proof outlives a reboot, for a while', async (t) => {
  const rebooted = settled({ report: undefined, vms: [vm()] })
  const now = rebooted.now + 60 * MINUTE
  const status = rebooted.report?.status ?? {}
  const claimed = { nodeUID: NODE_UID, bootID: OTHER_BOOT, nonce: 'f'.repeat(32) }
  const claim = { ...spec().claim, digest: claimDigest(claimed) }
  const newBoot = report({ spec: { ok: true, value: spec({ bootID: OTHER_BOOT, claim }) }, status })
  const before = { ...rebooted, report: newBoot, now }
  const first = decide(before)
  t.equal(first.level, 'proven')
  t.match(condition(first), { status: 'True', reason: 'ProvenBefore', message: /ClaimOfEarlierBoot/ })
  t.equal(first.status?.provenUntil, '2026-03-01T11:15:00Z')
  t.equal(first.requeueAfter, 15 * MINUTE)
  t.same(first.events, [])
  t.equal(first.patch, undefined)

  const waiting = after(before, first)
  const later = decide({ ...waiting, now: now + 10 * MINUTE })
  t.same(later.status, first.status, 'waiting costs no write')
  t.equal(later.requeueAfter, 5 * MINUTE)

  const renewed = decide({
    ...waiting,
    now: now + 10 * MINUTE,
    lookups: facts({ vms: [vm({ claim: formatClaim(claimed) })] }).lookups,
  })
  t.match(renewed, {
    level: 'proven',
    status: { provenUntil: undefined },
    requeueAfter: undefined,
    events: [],
  })

  const over = decide({ ...waiting, now: now + 15 * MINUTE })
  t.equal(over.level, 'reported')
  t.equal(over.status?.provenUntil, undefined)
  t.same(over.patch, { labels: { [LABEL_IDENTITY_LEVEL]: 'reported' } })
  t.match(over.events, [{ type: 'Warning', reason: 'Reported', message: /falls from proven to reported/ }])
  t.equal(decide({ ...after(waiting, over), now: now + 16 * MINUTE }).level, 'reported', 'and stays there')

  // Written by a leader whose clock was a month ahead.
  const ahead = decide({ ...after(before, first), now: now - 30 * 24 * 60 * MINUTE })
  t.equal(
    ahead.status?.provenUntil,
    '2026-01-30T11:15:00Z',
    'no longer than that, whatever a clock said before',
  )
})

t.test('a proof is of one VM: another with the same UUID changes nothing', async (t) => {
  const other = vm({ moref: 'vm-43', instanceUUID: OTHER_UID })
  const kept = decide(settled({ vms: [other] }))
  t.equal(kept.level, 'proven')
  t.match(kept.status?.vm, { moref: 'vm-42' })
  t.match(kept.refusal, { condition: 'VMFound', reason: 'UUIDOfAnotherVM' })
  const moved = vm({ moref: 'vm-43', claim: undefined })
  t.equal(decide(settled({ vms: [moved] })).level, 'proven', 'the same under a new reference')
})

t.test('a proof survives vMotion', async (t) => {
  const decision = decide(settled({ vms: [vm({ host: 'esx-9', cluster: 'cluster-b' })] }))
  t.match(decision, { level: 'proven', patch: undefined, status: { vm: { host: 'esx-9' } } })
})

const stranger: Rival = {
  name: 'forger',
  deletingSince: undefined,
  finalizers: [],
  boundTo: undefined,
  level: undefined,
  spec: undefined,
}
const proven = { boundTo: boundVM(), level: 'proven' } as const
const without = { vms: [vm({ claim: undefined })] }
const running = { ...stranger, ...proven }
const withLevel = { ...settled().report?.status, identityLevel: 'reported' as const }
const otherNICs = [{ name: 'e', mac: '00:50:56:8e:ff:01', defaultRoute: true, addresses: [] }]
const RIVALS: readonly (readonly [string, NodeFacts, IdentityLevel | undefined, reason?: string])[] = [
  ['two newcomers, no claim', facts({ ...without, rivals: [stranger] }), undefined],
  ['two newcomers, this one proven', facts({ rivals: [stranger] }), 'proven'],
  ['a newcomer beside one that runs', settled({ ...without, rivals: [stranger] }), 'proven'],
  ['a newcomer, the other one runs', facts({ ...without, rivals: [running] }), undefined],
  ['both were verified, this one proven', settled({ ...without, rivals: [running] }), 'proven'],
  [
    'both were verified, neither proven',
    settled({ ...without, report: report({ status: withLevel }), rivals: [running] }),
    undefined,
  ],
  ['the VM names this one, and the other one runs', facts({ rivals: [running] }), undefined],
  [
    'the VM names this one, and the other one merely reported it',
    facts({ rivals: [{ ...stranger, boundTo: boundVM(), level: 'reported' }] }),
    'proven',
  ],
  [
    'the other one is a copy of the VM, and known to be',
    facts({ ...without, rivals: [{ ...stranger, boundTo: boundVM({ moref: 'vm-7', instanceUUID: 'x' }) }] }),
    ...([undefined, 'AmbiguousUUID'] as const),
  ],
  [
    'the other one has other vNICs',
    facts({
      ...without,
      rivals: [{ ...stranger, spec: spec({ nodeUID: OTHER_UID, interfaces: otherNICs }) }],
    }),
    'reported',
  ],
  [
    'the other one reports the same vNICs',
    facts({ ...without, rivals: [{ ...stranger, spec: spec({ nodeUID: OTHER_UID }) }] }),
    undefined,
  ],
]

for (const [name, given, level, reason = 'VMHasAnotherNode'] of RIVALS) {
  t.test(`two Nodes for one VM: ${name}`, async (t) => {
    const decision = decide(given)
    t.equal(decision.level, level)
    if (level !== undefined) return
    t.match(condition(decision), { status: 'False', reason, message: /forger/ })
    t.equal(decision.patch?.taints, undefined)
    t.equal(decision.patch?.providerID, undefined)
  })
}

t.test('the level that is required', async (t) => {
  const unproven = { vms: [vm({ claim: undefined })] }
  const rows: [IdentityLevel, string | undefined, NodeFacts, boolean][] = [
    ['proven', undefined, facts(), true],
    ['proven', undefined, facts(unproven), false],
    ['reported', undefined, facts(unproven), true],
    ['asserted', undefined, facts(unproven), true],
    ['proven', 'os=windows', facts(unproven), false],
    ['proven', 'os=windows', facts({ ...unproven, node: node({ labels: { os: 'windows' } }) }), true],
  ]
  for (const [require, exempt, given, passes] of rows) {
    const decision = decide({ ...given, settings: requiring(require, exempt) })
    const name = `${require}, exempt ${exempt ?? 'none'}, ${JSON.stringify(given.node.labels)}`
    t.equal(decision.state, passes ? 'initializing' : 'refused', name)
    if (passes) continue
    t.match(decision, { refusal: { reason: 'LevelTooLow' }, level: 'reported', patch: undefined }, name)
    t.match(condition(decision), {
      status: 'False',
      reason: 'LevelTooLow',
      message: /is reported.*requires proven.*ClaimNotSeenYet/,
    })
    t.equal(decision.status?.identityLevel, 'reported', 'shown all the same')
  }
  const before = facts(unproven)
  const running = { ...after(before, decide(before)), settings: requiring('proven') }
  const strict = decide(running)
  t.match(strict, { state: 'refused', level: 'reported', patch: undefined }, 'a running one is left as it is')
})

const windows = node({ labels: { os: 'windows' }, systemUUID: SWAPPED_UUID.toUpperCase() })
const exempted = { node: windows, settings: requiring('reported', 'os=windows') }

t.test('a Node that may do without an agent gets a report that says nothing', async (t) => {
  const decision = decide(facts({ ...exempted, report: undefined }))
  t.match(decision, { create: { nodeUID: NODE_UID, machine: { productUUID: SWAPPED_UUID }, interfaces: [] } })
  t.equal(decision.create?.machine.serialUUID, undefined)
  t.equal(
    decide(facts({ ...exempted, report: undefined, settings: SETTINGS })).create,
    undefined,
    'unless it must',
  )
  const idle = node({ labels: { os: 'windows' }, taints: [] })
  t.equal(
    decide(facts({ ...exempted, node: idle, report: undefined })).state,
    'unmanaged',
    'nor anybody else’s',
  )
})

t.test('asserted: the kubelet’s system UUID in either byte order, and nothing else', async (t) => {
  const own = report({ spec: { ok: true, value: agentlessReport(windows) } })
  const asserted = (changes: Parameters<typeof facts>[0]) =>
    decide(facts({ ...exempted, report: own, ...changes }))
  const guestNICs = [
    { mac: MAC, network: 'n', deviceConfigID: 4000, addresses: [{ address: '10.0.0.5', prefixLength: 24 }] },
  ]
  const found = asserted({ vms: [vm({ guestNICs, claim: undefined })] })
  t.match(found, {
    state: 'initializing',
    level: 'asserted',
    patch: { labels: { [LABEL_IDENTITY_LEVEL]: 'asserted' } },
  })
  t.match(condition(found), { status: 'True', reason: 'Asserted', message: /nothing else was checked/ })
  t.equal(found.patch?.addresses?.[1]?.address, '10.0.0.5', 'addresses are those of VMware Tools')

  const twoOrders = asserted({
    vms: [
      vm({ claim: undefined }),
      vm({ moref: 'vm-43', name: 'b', biosUUID: SWAPPED_UUID, claim: undefined }),
    ],
  })
  t.match(twoOrders, { state: 'refused', patch: undefined, refusal: { reason: 'AmbiguousUUID' } })
  t.match(asserted({ vms: [vm({ claim: undefined })], rivals: [stranger] }).refusal, {
    reason: 'VMHasAnotherNode',
  })
  t.match(asserted({ vms: [vm({ claim: `v1 ${OTHER_UID} -` })], nodeByUID: names(boundVM()) }).refusal, {
    reason: 'ClaimedByAnotherNode',
  })
  t.equal(
    asserted({ vms: [vm({ guestNICs, claim: `v1 ${NODE_UID} -` })] }).level,
    'asserted',
    'a claim lifts nobody',
  )
  for (const systemUUID of [
    '',
    'abc',
    '00000000-0000-0000-0000-000000000000',
    'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF',
  ]) {
    const nobody = asserted({ node: { ...windows, systemUUID }, lookups: [] })
    t.match(nobody.refusal, { condition: 'VMFound', reason: 'NoSystemUUID' }, systemUUID)
  }
  const strict = decide(facts({ report: own, lookups: [] }))
  t.match(strict.refusal, { reason: 'NoReport' }, 'not where an agent is required')
  const said = (labels: Readonly<Record<string, string>>) => {
    const own = report({ spec: { ok: true, value: agentlessReport(windows) } })
    const { status } = decide(facts({ report: own, lookups: [], node: node({ labels }) }))
    return status?.conditions?.find(({ type }) => type === 'Initialized')?.message
  }
  t.match(
    said({}),
    /^no agent reports from this Node.* reported \(identity\.require\): run rollcall-agent there.*exempt/,
  )
  t.match(said({ 'kubernetes.io/os': 'windows' }), /there is no agent for Windows, so exempt the Node/)
  t.notMatch(said({}), /root/)
})

t.test('no report is believed while strangers could write it', async (t) => {
  const policy = { state: 'not-in-force', message: 'reports may be forged; apply the policy' } as const
  const newcomer = decide(facts({ policy }))
  t.match(newcomer, { state: 'refused', patch: undefined, refusal: { reason: 'PolicyNotInForce' } })
  t.match(condition(newcomer), { status: 'Unknown', message: /apply the policy/ })
  t.same(
    decide(settled({ policy, vms: [vm({ nics: [] })] })),
    { state: 'initialized', level: 'proven', events: [], requeue: false },
    'what was verified stays as it is, for better and for worse',
  )
  const pending = decide(facts({ policy: { state: 'pending' } }))
  t.same(pending, { state: 'waiting', events: [], requeue: false })
})

t.test(
  'a claim that another Node wrote, or had written, does not bring down the one that runs',
  async (t) => {
    const forged = { vms: [vm({ claim: `v1 ${OTHER_UID} -` })], nodeByUID: names(undefined) }
    const decision = decide(settled(forged))
    t.match(decision, { state: 'refused', level: 'proven', patch: undefined })
    t.match(condition(decision), {
      status: 'Unknown',
      reason: 'ClaimedByAnotherNode',
      message: /proven.*remains valid/,
    })
    t.equal(decision.status?.identityLevel, 'proven')
    const back = decide({ ...after(settled(forged), decision), lookups: facts().lookups })
    t.match(condition(back), { status: 'True', reason: 'Proven' })
  },
)

t.test('of another Node that is being deleted already, what keeps it is told', async (t) => {
  const leaving = { ...stranger, deletingSince: '2026-03-01T09:00:00Z', finalizers: ['a.io/b'] }
  for (const each of [
    facts({ ...without, rivals: [leaving] }),
    facts({ rivals: [{ ...leaving, ...proven }] }),
  ]) {
    const { conditions = [] } = decide(each).status ?? {}
    const { message = '' } = conditions.find(({ reason }) => reason === 'VMHasAnotherNode') ?? {}
    t.match(
      message,
      /deletion of Node forger was requested at 2026-03-01T09:00:00Z, but its finalizer a\.io\/b/,
    )
    t.notMatch(message, /; delete/)
  }
})

t.test('a forger that was refused holds nothing of the VM that it named', async (t) => {
  const first = facts(without)
  const early = after(first, decide(first))
  t.equal(early.report?.status.identityLevel, 'reported')
  const claimed = {
    ...early,
    lookups: facts({ vms: [vm({ claim: `v1 ${OTHER_UID} -` })] }).lookups,
    nodeByUID: names(boundVM()),
    rivals: [{ ...stranger, name: 'victim', ...proven }],
  }
  const refused = decide({
    ...claimed,
    report: report({ ...claimed.report, status: { ...claimed.report?.status } }),
  })
  t.equal(refused.status?.identityLevel, undefined, 'it was not proven')
  const later = decide({ ...after(claimed, refused), lookups: facts(without).lookups })
  t.match(later.refusal, { reason: 'VMHasAnotherNode' }, 'the binding that is left counts for nothing')
})

t.test('a level that comes back is told', async (t) => {
  const before = settled()
  const lost = after(before, decide(settled({ vms: [vm({ nics: [] })] })))
  t.match(decide({ ...lost, lookups: facts().lookups }).events, [
    { type: 'Normal', reason: 'Proven', message: /is proven again/ },
  ])
})

t.test('a Node with the provider ID of a verified one, and no report, is told of', async (t) => {
  const silent = node({ taints: [], providerID: `vsphere://${BIOS_UUID}` })
  const holder = { ...stranger, name: 'victim', ...proven }
  const decision = decide(facts({ node: silent, report: undefined, lookups: [], rivals: [holder] }))
  t.match(decision, { state: 'waiting', patch: undefined, refusal: { reason: 'VMHasAnotherNode' } })
  t.match(decision.events, [{ type: 'Warning', message: /victim/ }])
  t.equal(decide(facts({ node: silent, report: undefined, lookups: [] })).state, 'unmanaged')
})

t.test('a vNIC that is replaced does not make the claim of a proven Node one of two', async (t) => {
  const copy = vm({ moref: 'vm-43', name: 'copy', instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b' })
  const replaced = { nics: [{ mac: '00:50:56:cc:00:01' }] }
  const withVMs = (facts: NodeFacts, ...vms: readonly ReturnType<typeof vm>[]): NodeFacts => ({
    ...facts,
    lookups: claiming(undefined, { vms }).lookups,
  })
  const later = (facts: NodeFacts, minutes: number): NodeFacts => ({
    ...facts,
    now: facts.now + minutes * MINUTE,
  })
  const shown = withVMs(settled(), vm(replaced), copy)
  const contradicted = decide(shown)
  t.equal(contradicted.level, undefined)
  t.equal(condition(contradicted)?.reason, 'MACsContradict')
  t.equal(Date.parse(contradicted.status?.provenUntil ?? ''), shown.now + 15 * MINUTE)
  const ended = after(shown, contradicted)
  t.equal(decide(later(ended, 5)).status?.provenUntil, contradicted.status?.provenUntil, 'once')
  t.equal(decide(later(ended, 16)).status?.provenUntil, undefined)
  const both = withVMs(ended, vm(), copy)
  t.match(decide(later(both, 5)), { level: 'proven', status: { vm: { moref: 'vm-42' } } })
  t.match(condition(decide(later(both, 5))), { reason: 'Proven' })
  t.match(condition(decide(later(both, 16))), {
    reason: 'Reported',
    message: /remove that copy, then restart/,
  })
  const unseen = decide(later(withVMs(ended, vm({ claim: undefined }), copy), 5))
  t.match(condition(unseen), { reason: 'ProvenBefore' })
  t.equal(unseen.status?.provenUntil, contradicted.status?.provenUntil)
  // Another contradiction is none that passes, and whoever was reported gains nothing.
  const machine = { ...spec().machine, productUUID: SWAPPED_UUID.replace('1', '2') }
  const other = {
    ...shown,
    report: report({ ...shown.report, spec: { ok: true, value: spec({ machine }) } }),
  }
  t.equal(decide(other).status?.provenUntil, undefined)
  const weak = facts({ vms: [vm({ claim: undefined })] })
  const first = after(weak, decide(weak))
  const gained = after(first, decide(withVMs(first, vm(replaced), copy)))
  t.equal(gained.report?.status.provenUntil, undefined)
  t.match(decide(withVMs(gained, vm(), copy)), { level: 'reported' })
})
