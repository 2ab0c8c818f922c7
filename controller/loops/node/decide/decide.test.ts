import t from 'tap'
import type { ConditionType } from '../../../../agent/shared/node-report.ts'
import {
  after,
  BIOS_UUID,
  decide,
  facts,
  MAC,
  NOW,
  node,
  report,
  SETTINGS,
  SWAPPED_UUID,
  settled,
  spec,
  vm,
} from '../../../../test/fixtures/facts.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { LABEL_IDENTITY_LEVEL } from '../../../types/well-known.ts'
import type { Decision } from './decision.ts'
import type { NodeFacts } from './node-facts.ts'

function condition(decision: Decision, type: ConditionType) {
  return decision.status?.conditions?.find((candidate) => candidate.type === type)
}

function reported(changes: Parameters<typeof spec>[0]): NodeFacts['report'] {
  return report({ spec: { ok: true, value: spec(changes) } })
}

t.test('initializes a Node as users of the CPI expect', async (t) => {
  const decision = decide(facts())
  t.equal(decision.state, 'initializing')
  t.equal(decision.level, 'proven')
  t.same(decision.patch, {
    addresses: [
      { type: 'Hostname', address: 'worker-1' },
      { type: 'InternalIP', address: '10.0.0.5' },
      { type: 'ExternalIP', address: '10.0.0.5' },
    ],
    labels: {
      'topology.kubernetes.io/zone': 'zone-a',
      'failure-domain.beta.kubernetes.io/zone': 'zone-a',
      'topology.kubernetes.io/region': 'region-1',
      'failure-domain.beta.kubernetes.io/region': 'region-1',
      'node.kubernetes.io/instance-type': 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
      'beta.kubernetes.io/instance-type': 'vsphere-vm.cpu-4.mem-16gb.os-ubuntu',
      [LABEL_IDENTITY_LEVEL]: 'proven',
    },
    providerID: `vsphere://${BIOS_UUID}`,
    taints: [],
  })
  t.same(
    decision.events.map(({ type, reason }) => ({ type, reason })),
    [
      { type: 'Normal', reason: 'Initialized' },
      { type: 'Normal', reason: 'Synced' },
    ],
  )
  t.match(decision.status, {
    identityLevel: 'proven',
    vm: { moref: 'vm-42', biosUUID: BIOS_UUID, host: 'esx-1' },
  })
})

t.test('a Node that is as it should be is left alone', async (t) => {
  const first = decide(facts())
  const second = decide({ ...after(facts(), first), now: facts().now + 60_000 })
  t.equal(second.state, 'initialized')
  t.equal(second.patch, undefined)
  t.same(second.status, first.status, 'not even a time in the status moves')
  t.same(second.events, [])
  t.equal(second.requeue, false)
})

t.test('addresses are not rewritten for their order', async (t) => {
  const first = after(facts(), decide(facts()))
  const { addresses } = first.node
  const turned = { ...first, node: { ...first.node, addresses: addresses.toReversed() } }
  t.equal(decide(turned).patch, undefined)
  const more = [...addresses, { type: 'ExternalIP', address: '192.0.2.9' }]
  t.same(decide({ ...first, node: { ...first.node, addresses: more } }).patch, { addresses })
  const fresh = decide(facts({ node: node({ addresses: addresses.toReversed() }) }))
  t.same([fresh.state, fresh.patch?.addresses], ['initializing', undefined], 'nor those of a new Node')
})

t.test('a new Node shows the family that is there, and waits for the other', async (t) => {
  const settings = { ...SETTINGS, ipFamilies: { vc1: ['ipv4', 'ipv6'] } } as const
  const waiting = decide(facts({ settings }))
  t.match(waiting, { state: 'refused', refusal: { reason: 'FamilyMissing' } })
  t.same(Object.keys(waiting.patch ?? {}), ['addresses'], 'and keeps its taint')
  t.match(condition(waiting, 'Initialized'), { status: 'False', reason: 'FamilyMissing' })
  t.same(waiting.status?.addresses, waiting.patch?.addresses)
  t.equal(decide(after(facts({ settings }), waiting)).patch, undefined, 'written once')

  const nodes = { ...SETTINGS.nodes, requireAllFamilies: false }
  const going = decide(facts({ settings: { ...settings, nodes } }))
  t.match(going, { state: 'initializing', patch: { taints: [] } })
  t.match(condition(going, 'AddressesResolved'), { status: 'False', reason: 'FamilyMissing' })
})

t.test('other taints and labels survive the initialization', async (t) => {
  const other = {
    key: 'node.kubernetes.io/not-ready',
    effect: 'NoExecute',
    timeAdded: '2026-03-01T09:59:51Z',
  }
  const decision = decide(facts({ node: node({ taints: [...node().taints, other] }) }))
  t.same(decision.patch?.taints, [other])
})

t.test('an initialization that also ends the shutdown taint leaves neither', async (t) => {
  const [uninitialized] = node().taints
  const shutdown = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
  const before = settled()
  const taints = uninitialized === undefined ? [] : [uninitialized, shutdown]
  t.same(decide({ ...before, node: { ...before.node, taints } }).patch?.taints, [])
})

t.test('a Node without a report waits, and is told why when the agent is overdue', async (t) => {
  const fresh = decide(facts({ report: undefined, lookups: [] }))
  t.match(fresh, { state: 'waiting', refusal: { reason: 'NoReport' }, events: [], requeue: false })
  t.ok(fresh.requeueAfter !== undefined && fresh.requeueAfter > 0 && fresh.requeueAfter <= 60_000)
  const behind = decide(facts({ report: undefined, lookups: [], now: facts().now - 3_600_000 }))
  t.equal(behind.requeueAfter, 60_000, 'no longer where the clocks differ')
  const then = facts().now + (fresh.requeueAfter ?? 0)
  const overdue = decide(facts({ report: undefined, lookups: [], now: then }))
  t.match(overdue, { requeue: true })
  t.match(overdue.events, [{ type: 'Warning', reason: 'NoReport', message: /rollcall-agent/ }])
})

t.test('Nodes that are none of our business are unmanaged', async (t) => {
  const cases = {
    'initialized by another provider': node({ taints: [], providerID: 'metal3://x' }),
    'no taint, no report': node({ taints: [] }),
    'foreign and uninitialized': node({ providerID: 'kubemark://x' }),
  }
  for (const [name, foreign] of Object.entries(cases)) {
    t.same(
      decide(facts({ node: foreign, report: undefined, lookups: [] })),
      { state: 'unmanaged', events: [], requeue: false },
      name,
    )
  }
  t.equal(decide(facts({ node: node({ deleting: true }) })).state, 'unmanaged')
})

t.test('a vCenter that does not answer proves nothing', async (t) => {
  const failure = { vCenter: 'vc1', reason: 'InvalidLogin' as const, message: 'the password is wrong' }
  const lookups = [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown' as const, failure } }]
  const waiting = decide(facts({ lookups }))
  t.match(waiting, { state: 'waiting', refusal: { condition: 'VMFound', reason: 'InvalidLogin' } })
  t.match(condition(waiting, 'VMFound'), { status: 'Unknown', reason: 'InvalidLogin' })
  t.equal(waiting.patch, undefined)

  t.same(
    decide(settled({ lookups })),
    { state: 'initialized', level: 'proven', events: [], requeue: false },
    'a running Node costs no write',
  )

  const alone = [
    { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'unknown' as const, failure, alone: true as const } },
  ]
  const said = decide(settled({ lookups: alone }))
  t.match(said, { level: 'proven', patch: undefined }, 'it stands, whatever is amiss with one VM alone')
  t.match(condition(said, 'VMFound'), { status: 'Unknown', reason: 'InvalidLogin' }, 'which is said')
  t.match(condition(said, 'IdentityVerified'), { status: 'True' })
})

t.test('a VM that vCenter cannot read is neither believed nor forgotten', async (t) => {
  const vms = [vm({ biosUUID: undefined, connectionState: 'inaccessible' })]
  const waiting = decide(facts({ vms }))
  t.match(waiting, { state: 'waiting', patch: undefined, refusal: { reason: 'VMUnreadable' } })
  t.match(condition(waiting, 'VMFound'), { status: 'Unknown', message: /inaccessible/ })
  const verified = decide(settled({ vms }))
  t.match(verified, { state: 'initialized', level: 'proven', patch: undefined, requeue: false })
  t.match(condition(verified, 'VMFound'), { status: 'Unknown', reason: 'VMNotConnected' })
  t.match(condition(verified, 'IdentityVerified'), { status: 'True' })
})

t.test('a VM that is not seen any more ends nothing that was verified', async (t) => {
  const before = settled()
  const decision = decide(settled({ vms: [] }))
  t.match(condition(decision, 'VMFound'), { status: 'False', reason: 'NoVMWithUUID' })
  for (const type of ['IdentityVerified', 'Initialized'] as const) {
    t.match(condition(decision, type), { status: 'True' }, type)
  }
  t.equal(decision.level, 'proven')
  t.equal(decision.status?.identityLevel, 'proven')
  t.same(decision.status?.vm, before.report?.status.vm)
  t.equal(decision.patch, undefined)
})

t.test('strangers’ names cannot paint a terminal, and fit the schema', async (t) => {
  const name = `\u001b[2J\n${'x'.repeat(600)}`
  const { status } = decide(facts({ vms: [vm({ name, host: name, moref: 'v'.repeat(99) })] }))
  t.ok((status?.vm?.name.length ?? 0) <= 512)
  t.ok((status?.vm?.moref.length ?? 0) <= 64)
  t.notMatch(JSON.stringify(status?.vm), /\\u001b|\\n|\p{Cc}/u)
  const foreign = decide(facts({ node: node({ providerID: 'x://\u001b[31m\nEvents:' }) }))
  t.notMatch(foreign.events[0]?.message, /\p{Cc}/u)
})

t.test('nothing is done before the vCenter has answered in full', async (t) => {
  t.match(decide(facts({ lookups: [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'pending' } }] })), {
    state: 'waiting',
    patch: undefined,
  })
  t.match(decide(facts({ vms: [vm({ ancestry: undefined })] })), { state: 'waiting', patch: undefined })
})

t.test('a UUID that two vCenters answer to is ambiguous', async (t) => {
  const other = vm({ vCenter: { name: 'vc2', instanceUUID: 'x' }, claim: undefined })
  const decision = decide(
    facts({
      lookups: [
        { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [vm({ claim: undefined })] } },
        { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [other] } },
      ],
    }),
  )
  t.match(decision.refusal, { reason: 'AmbiguousUUID' })
})

t.test(
  'where more VMs have the UUID than are known, nothing decides: one that is not read may show the claim too',
  async (t) => {
    const incomplete = { vCenter: 'vc1', reason: 'AmbiguousUUID', message: 'so many VMs have it' } as const
    const among = (shown: VirtualMachine) =>
      decide(
        facts({
          lookups: [
            { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [shown], incomplete } },
          ],
        }),
      )
    const crowded = among(vm())
    t.match(crowded, { state: 'waiting', patch: undefined, refusal: { reason: 'AmbiguousUUID' } })
    t.match(condition(crowded, 'VMFound'), { status: 'Unknown', message: /so many VMs have it/ })
    const waits = among(vm({ claim: undefined }))
    t.match(waits, { state: 'waiting', patch: undefined, refusal: { reason: 'AmbiguousUUID' } })
    t.match(condition(waits, 'VMFound'), { status: 'Unknown', message: /no claim.*so many VMs have it/ })
  },
)

t.test('provider IDs of the in-tree provider are recognized and left as they are', async (t) => {
  for (const existing of [BIOS_UUID.toUpperCase(), SWAPPED_UUID]) {
    const decision = decide(facts({ node: node({ providerID: `vsphere://${existing}` }) }))
    t.equal(decision.state, 'initializing')
    t.equal(decision.patch?.providerID, undefined)
  }
})

t.test('what contradicts a running Node ends the level, and leaves the rest as it is', async (t) => {
  const before = settled()
  t.equal(before.node.labels[LABEL_IDENTITY_LEVEL], 'proven')
  const decision = decide(settled({ vms: [vm({ nics: [] })] }))
  t.same(decision.status?.vm, before.report?.status.vm)
  t.equal(decision.status?.identityLevel, undefined)
  t.equal(decision.level, undefined)
  t.same(decision.patch, { labels: { [LABEL_IDENTITY_LEVEL]: null } })
  t.match(condition(decision, 'Initialized'), { status: 'True' }, 'what was done stays done')
  const again = decide({ ...after(before, decision), lookups: facts({ vms: [vm({ nics: [] })] }).lookups })
  t.match(again, { patch: undefined, events: [] })
})

t.test('a garbled report of a running Node ends nothing, and is said', async (t) => {
  const before = settled()
  const broken = { ok: false, problems: ['spec.nodeUID: expected a UUID, got null'] } as const
  const bad = { ...before, report: report({ ...before.report, spec: broken }) }
  const decision = decide(bad)
  t.match(decision, {
    state: 'refused',
    level: 'proven',
    patch: undefined,
    refusal: { reason: 'ReportInvalid' },
  })
  t.match(condition(decision, 'IdentityVerified'), {
    status: 'Unknown',
    reason: 'ReportInvalid',
    message: /spec\.nodeUID.*proven.*remains valid/,
  })
  t.equal(decision.status?.identityLevel, 'proven')
  t.match(decision.events, [{ type: 'Warning', reason: 'ReportInvalid' }])
  const good = decide({
    ...after(bad, decision),
    report: report({ ...before.report, status: decision.status ?? {} }),
  })
  t.match(condition(good, 'IdentityVerified'), { status: 'True', reason: 'Proven' })
})

t.test('nothing that was found out about a former Node counts for the next of its name', async (t) => {
  const before = settled()
  const again = node({ uid: BIOS_UUID })
  const next = reported({ nodeUID: BIOS_UUID, claim: { written: false, reason: 'Disabled', message: 'off' } })
  const decision = decide({
    ...before,
    node: again,
    report: report({ ...next, status: before.report?.status ?? {} }),
    nodeByUID: () => undefined,
  })
  t.equal(decision.level, 'reported', 'the former one was proven')
  t.equal(decision.status?.nodeUID, BIOS_UUID)
  t.equal(decision.status?.provenUntil, undefined)
})

t.test('a Node that asks for no cloud provider is not made one of vSphere', async (t) => {
  const bare = facts({ node: node({ taints: [] }) })
  const decision = decide(bare)
  t.match(decision, { state: 'refused', refusal: { reason: 'RegisteredUntainted' }, patch: undefined })
  t.match(condition(decision, 'Initialized'), { status: 'False', reason: 'RegisteredUntainted' })
  t.match(decision.events, [
    {
      type: 'Warning',
      message: /--cloud-provider=external, then run: kubectl taint node worker-1 \S+=true:NoSchedule/,
    },
  ])
  t.equal(decision.events.length, 1)
  t.same(decide(after(bare, decision)).events, [], 'it is said once')

  const foreign = facts({ node: node({ taints: [] }), report: undefined, lookups: [] })
  t.equal(decide(foreign).state, 'unmanaged', 'without a report it may be anybody’s')
})

t.test('a Node that was registered without the taint and with its provider ID is told of once', async (t) => {
  const bare = facts({ node: node({ taints: [], providerID: `vsphere://${BIOS_UUID}` }) })
  const decision = decide(bare)
  t.match(decision, { state: 'initialized' })
  const warning = { type: 'Warning', reason: 'RegisteredUntainted', message: /--cloud-provider/ }
  t.match(decision.events.at(-1), warning)
  t.same(decide(after(bare, decision)).events, [])

  const aged = (milliseconds: number) => ({
    ...bare,
    now: Date.parse(bare.node.creationTimestamp) + milliseconds,
  })
  t.match(decide(aged(599_000)).events.at(-1), warning)
  t.notMatch(decide(aged(601_000)).events.at(-1), warning, 'nor of a Node that has long been there')

  const unsaid = { ...settled(), report: report() }
  t.same(
    decide(unsaid).events.map(({ reason }) => reason),
    ['Initialized'],
    'nor of one whose initialization a controller did not live to report',
  )

  const hidden = { ...bare, vms: [] }
  const refused = decide(hidden)
  t.match(refused.events.at(-1), warning)
  t.notMatch(decide(after(hidden, refused)).events.at(-1), { reason: 'RegisteredUntainted' })

  const invalid = { ...bare, report: report({ spec: { ok: false, problems: ['no spec'] } }) }
  const unreadable = decide(invalid)
  t.match(unreadable.events.at(-1), warning)
  t.same(decide(after(invalid, unreadable)).events, [], 'nor again of one whose report is invalid')

  const foreign = facts({ node: node({ taints: [], providerID: 'k3s://worker-1' }) })
  t.same(
    decide(foreign).events.map(({ reason }) => reason),
    ['ForeignProviderID'],
    "nor of another provider's",
  )
})

t.test('the initialization is told once in the words of the CPI', async (t) => {
  const first = facts()
  const decision = decide(first)
  const synced = decision.events.filter(({ reason }) => reason === 'Synced')
  t.same(synced, [
    {
      type: 'Normal',
      reason: 'Synced',
      message: 'Node synced successfully',
      component: 'cloud-node-controller',
    },
  ])
  t.same(decide(after(first, decision)).events, [])
})

t.test('more labels come with the initialization, where a Node has none of their name', async (t) => {
  const settings = {
    ...SETTINGS,
    initialization: { on: true, labels: { 'example.com/rack': 'r1', own: 'x' } },
  }
  const labels = { own: 'kept' }
  const { patch } = decide(facts({ settings, node: node({ labels }) }))
  t.equal(patch?.labels?.['example.com/rack'], 'r1')
  t.notOk('own' in (patch?.labels ?? {}))
  t.equal(decide({ ...settled(), settings }).patch, undefined, 'a running Node stays as it is')
})

t.test('where another provider initializes Nodes, none is changed but for the state of its VM', async (t) => {
  const settings = { ...SETTINGS, initialization: { on: false, labels: {} } }
  const fresh = decide(facts({ settings }))
  t.equal(fresh.patch, undefined)
  t.equal(fresh.state, 'waiting')
  t.match(fresh.refusal, { condition: 'Initialized', reason: 'InitializationOff' })
  t.equal(fresh.status?.identityLevel, 'proven', 'what its VM is is found out all the same')

  const running = settled()
  const bare = { ...running, node: { ...running.node, labels: {}, addresses: [] } }
  t.ok(decide(bare).patch?.addresses, 'what would be written otherwise')
  t.equal(decide({ ...bare, settings }).patch, undefined)
  const off = settled({ vms: [vm({ powerState: 'poweredOff' })] })
  t.equal(decide({ ...off, settings }).patch?.taints?.length, 1)
})

t.test('while a CPI handles Nodes, none is changed, and those that wait say so', async (t) => {
  const interlock = { state: 'held', message: 'stop the CPI' } as const
  const fresh = decide(facts({ interlock }))
  t.match(fresh, { state: 'waiting', patch: undefined, refusal: { reason: 'CPIRuns' } })
  t.match(condition(fresh, 'Initialized'), { status: 'False', reason: 'CPIRuns', message: 'stop the CPI' })
  t.equal(fresh.status?.identityLevel, 'proven', 'what its VM is is found out all the same')
  t.equal(decide(facts({ interlock, node: node({ providerID: 'aws:///a/i-1' }) })).patch, undefined)

  const running = settled()
  const off = vm({ powerState: 'poweredOff' })
  const shut = decide({ ...running, lookups: facts({ vms: [off] }).lookups })
  const variants: Record<string, NodeFacts> = {
    'a Node that lacks all': { ...running, node: { ...running.node, labels: {}, addresses: [] } },
    'one whose VM is off': { ...running, lookups: facts({ vms: [off] }).lookups },
    'one whose VM runs again': { ...running, node: after(running, shut).node },
    'one that may go, and whose VM is there': {
      ...running,
      node: { ...running.node, deletionAnnotation: 'proceed' },
    },
    'one that another VM contradicts': { ...running, lookups: facts({ vms: [vm({ nics: [] })] }).lookups },
    'one whose labels are to follow': {
      ...running,
      settings: { ...SETTINGS, topology: { ...SETTINGS.topology, onChange: 'relabel' } },
      lookups: facts({ vms: [vm({ cpus: 64 })] }).lookups,
    },
  }
  for (const [what, each] of Object.entries(variants)) {
    t.ok(decide(each).patch, `${what} would be patched`)
    const held = decide({ ...each, interlock })
    t.equal(held.patch, undefined, what)
    t.notOk(
      held.events.some(({ reason }) => ['VMShutDown', 'VMRuns', 'Relabeled'].includes(reason)),
      'and nothing is told that does not happen',
    )
  }
  t.same(decide({ ...running, interlock }).events, [], 'a Node that is as it should be stays quiet')

  // The agent sees two addresses, and the CPI has moved the Node to the other one.
  const addresses = ['10.0.0.5', '10.0.0.6'].map((address) => ({ address, prefixLength: 24 }))
  const interfaces = [{ name: 'ens192', mac: MAC, defaultRoute: true, addresses }]
  const sees = (facts: NodeFacts) => ({
    ...facts,
    report: facts.report && { ...facts.report, spec: { ok: true, value: spec({ interfaces }) } as const },
  })
  const elsewhere = running.node.addresses.map(({ type, address }) => ({
    type,
    address: address === '10.0.0.5' ? '10.0.0.6' : address,
  }))
  const moved = sees({ ...running, node: { ...running.node, addresses: elsewhere } })
  t.ok(decide(moved).patch?.addresses, 'Rollcall would move it back')
  const left = after(moved, decide({ ...moved, interlock }))
  t.equal(decide(left).patch, undefined, 'but not once the CPI was left to it')
})

t.test('while a CPI handles Nodes, the reports still say whether the VMs run', async (t) => {
  const interlock = { state: 'held', message: 'stop the CPI' } as const
  const seen = (vms: readonly VirtualMachine[], before = settled()) =>
    after(before, decide({ ...before, interlock, lookups: facts({ vms }).lookups }))
  const found = (facts: NodeFacts) => facts.report?.status.conditions?.find(({ type }) => type === 'VMFound')
  const off = seen([vm({ powerState: 'poweredOff' })])
  t.match(found(off), { status: 'True', reason: 'VMPoweredOff', message: /Nodes are left to a CPI/ })
  t.same(off.node, settled().node)
  t.match(found(seen([vm()], off)), { status: 'True', reason: 'VMFound' })
  t.match(found(seen([vm({ connectionState: 'disconnected' })])), { reason: 'VMNotConnected' })
  t.match(found(seen([])), { status: 'False', reason: 'NoVMWithUUID' })
  const taken = decide({
    ...off,
    interlock: { state: 'open' },
    lookups: facts({ vms: [vm({ powerState: 'poweredOff' })] }).lookups,
  })
  t.ok(taken.patch?.taints?.length, 'it is tainted once no CPI handles Nodes')
})

t.test('labels of a running Node are filled in, never changed', async (t) => {
  const running = node({
    taints: [],
    providerID: `vsphere://${BIOS_UUID}`,
    labels: { 'topology.kubernetes.io/zone': 'old', [LABEL_IDENTITY_LEVEL]: 'proven' },
  })
  const { patch } = decide(facts({ node: running }))
  t.equal(patch?.labels?.['topology.kubernetes.io/zone'], undefined)
  t.equal(
    patch?.labels?.['failure-domain.beta.kubernetes.io/zone'],
    undefined,
    'nor contradicted by its beta name',
  )
  t.equal(patch?.labels?.['topology.kubernetes.io/region'], 'region-1')
})

t.test(
  'a label that the kubelet gave otherwise is put right while the Node is initialized, and that is said',
  async (t) => {
    const zone = 'topology.kubernetes.io/zone'
    const { patch, events } = decide(facts({ node: node({ labels: { [zone]: 'elsewhere' } }) }))
    t.equal(patch?.labels?.[zone], 'zone-a')
    t.match(events.at(-1), { type: 'Warning', reason: 'LabelOverridden', message: /--node-labels/ })
    t.same(
      decide(facts({ node: node({ labels: { [zone]: 'zone-a' } }) })).events.map(({ reason }) => reason),
      ['Initialized', 'Synced'],
    )
  },
)

t.test('what was verified rests while the VM is off, however long', async (t) => {
  const off = settled({
    vms: [vm({ powerState: 'poweredOff', claim: undefined, guestNICs: [] })],
    now: NOW + 86_400_000,
  })
  const decision = decide(off)
  t.equal(decision.level, 'proven')
  t.match(decision.patch, {
    taints: [{ key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }],
  })
  t.match(condition(decision, 'VMFound'), { status: 'True', reason: 'VMPoweredOff' })
  t.match(condition(decision, 'IdentityVerified'), { status: 'True', reason: 'Proven' })
  t.equal(decision.status?.provenUntil, undefined)

  const tainted = after(off, decision)
  t.equal(decide(tainted).patch, undefined, 'once')
  t.same(decide(tainted).status, tainted.report?.status)
  const runs = decide({ ...tainted, lookups: settled({ vms: [vm({ claim: undefined })] }).lookups })
  t.equal(runs.level, 'proven', 'it has time to say so again')
  t.same(runs.patch?.taints, [])
  t.ok(runs.events.some(({ reason }) => reason === 'VMRuns'))
})

t.test(
  'what another loop says of a Node is in its status, told once, and goes where nobody says it any more',
  async (t) => {
    const waits = { status: 'False', reason: 'NameNotVerified', message: 'csr-1: why' } as const
    const on = { ...SETTINGS, certificates: { ...SETTINGS.certificates, approve: true } }
    const saying = (given: NodeFacts) => ({
      ...given,
      settings: on,
      otherConditions: { ServingCertificate: waits },
    })
    const initialized = after(facts(), decide(facts()))
    const told = decide(saying(initialized))
    t.match(condition(told, 'ServingCertificate'), waits)
    t.match(told.events, [{ type: 'Warning', reason: 'NameNotVerified', message: 'csr-1: why' }])
    t.equal(told.patch, undefined, 'it changes nothing on the Node')
    const next = after(initialized, told)
    t.same(decide(saying(next)).events, [])
    t.match(
      condition(decide({ ...next, settings: on }), 'ServingCertificate'),
      waits,
      'a new leader has not looked yet',
    )
    t.equal(condition(decide(next), 'ServingCertificate'), undefined, 'it is turned off')
  },
)
