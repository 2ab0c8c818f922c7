import t from 'tap'
import type { NodeReportSpec, NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import {
  BIOS_UUID,
  boundVM,
  facts,
  NODE_UID,
  node,
  report,
  SETTINGS,
  spec,
  vm,
} from '../../../../test/fixtures/facts.ts'
import { absence, probe, seenVM } from '../../../../test/fixtures/probes.ts'
import type { Lookup, SeenVM, VCenterProbe } from '../../../types/inventory.ts'
import type { Node } from '../../../types/node.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { createNodeIndex } from '../gather/node-index.ts'
import { createInhabitantsOf } from './inhabitants.ts'

const HERE = { vCenter: 'vc1', vCenterInstanceUUID: boundVM().vCenterInstanceUUID }
const NONE: Lookup = { state: 'answered', vms: [] }
const failure = { vCenter: 'vc1', reason: 'NoPermission' as const, message: 'it may not be read' }

const found: Lookup = { state: 'answered', vms: [vm()] }
const inTwo = (changes: Partial<VirtualMachine> = {}): Lookup => ({
  state: 'answered',
  vms: [vm({ vCenter: { name: 'vc2', instanceUUID: 'two' }, moref: 'vm-7', ...changes })],
})
const ready = { status: 'True', lastHeartbeatTime: '' } as const
const silent = { status: 'Unknown', lastHeartbeatTime: '' } as const

interface World {
  readonly missingFor?: number
  readonly here?: Lookup
  readonly there?: Lookup
  /** Where the last probe found the VM. */
  readonly foundBy?: string
  readonly foundAs?: 'instanceUUID' | 'biosUUID' | 'moref'
  /** What was found there. */
  readonly seen?: Partial<SeenVM>
  /** Whether that was the VM that the Node was before. */
  readonly former?: boolean
  readonly other?: Partial<Node>
  /** What its agent reports. */
  readonly says?: Partial<NodeReportSpec>
  readonly reports?: boolean
}

/** Two Nodes of this vCenter, the other one in this state. */
function setUp(world: World) {
  const { missingFor = 0, here = NONE, there = NONE, foundBy, foundAs = 'instanceUUID', seen } = world
  const { other = { ready }, says = {}, reports = true, former = false } = world
  const said = spec(says)
  const index = createNodeIndex(SETTINGS.identity)
  const status = { nodeUID: NODE_UID, vm: boundVM(), identityLevel: 'proven' as const }
  const nodes = new Map(
    ['worker-1', 'worker-2'].map((name) => [name, node({ name, ...(name === 'worker-2' ? other : {}) })]),
  )
  for (const [name, each] of nodes) {
    index.node(name, each)
    index.report(name, report({ name, status }))
  }
  const finding = { state: 'found', vm: seenVM(seen) } as const
  const nowhere = ['vc1', 'vc2'].map((vCenter) => probe({ vCenter }))
  const somewhere = nowhere.map((each) => (each.vCenter === foundBy ? { ...each, [foundAs]: finding } : each))
  const evidence = former
    ? absence(facts(), { probes: nowhere, others: [boundVM()], othersProbes: somewhere })
    : absence(facts(), { probes: somewhere })
  const inhabitantsOf = createInhabitantsOf({
    index,
    tracker: {
      missingFor: (name) => (name === 'worker-2' ? missingFor : 0),
      evidence: (name) => (name === 'worker-2' && foundBy !== undefined ? evidence : undefined),
    },
    inventories: [
      {
        vCenter: 'vc1',
        instanceUUID: () => HERE.vCenterInstanceUUID,
        lookup: (uuid) => (uuid === BIOS_UUID ? here : NONE),
      },
      { vCenter: 'vc2', instanceUUID: () => 'two', lookup: (uuid) => (uuid === BIOS_UUID ? there : NONE) },
    ],
    node: (name) => nodes.get(name),
    report: () => (reports ? report({ status, spec: { ok: true, value: said } }) : undefined),
    absentFor: 1000,
  })
  return { inhabitantsOf: (vCenter = HERE) => inhabitantsOf(vCenter, 'worker-1'), index }
}

const unclaimed = { claim: { written: false, reason: 'ReadOnly', message: '' } } as const
const copy = inTwo({ claim: undefined, instanceUUID: 'another' })
const off = { powerState: 'poweredOff' } as const
const left = inTwo(off)
const lost = inTwo({ connectionState: 'disconnected' })
const LISTED = { kind: 'listed' }
const UNLISTED = { kind: 'unlisted', names: ['worker-2'] }

t.test(
  'another Node tells that a vCenter has a VM, unless its VM has been missing for long, or is elsewhere',
  async (t) => {
    const meant = { ready, deletionAnnotation: 'proceed' }
    for (const [what, world, expected] of [
      ['its VM is shown', { here: found }, LISTED],
      ['its VM cannot be asked for', { here: { state: 'unknown', failure } }, LISTED],
      ['its VM was not asked for yet', { here: { state: 'pending' } }, LISTED],
      ['not all VMs with its UUID are known', { here: { ...NONE, incomplete: failure } }, LISTED],
      ['its VM has only just gone missing', { missingFor: 1, other: { ready: silent } }, LISTED],
      ['it is not missed yet', {}, LISTED],
      ['its last probe found its VM, though it is not shown', { foundBy: 'vc1' }, LISTED],
      ['another vCenter shows its VM, which has moved', { there: inTwo() }, undefined],
      ['it has no claim, and its instance UUID is there', { there: inTwo(), says: unclaimed }, undefined],
      ['it has no report, and its instance UUID is there', { there: inTwo(), reports: false }, undefined],
      ['a copy is there without its claim', { there: copy }, UNLISTED],
      ['a copy is there that is off', { there: inTwo({ powerState: 'poweredOff' }) }, UNLISTED],
      ['what it has left is there, off', { there: left, says: unclaimed }, UNLISTED],
      ['the same, on a host that is away', { there: lost, says: unclaimed }, UNLISTED],
      ['its last probe found there what it has left', { foundBy: 'vc2', seen: off }, UNLISTED],
      ['the same, by its reference', { foundBy: 'vc2', foundAs: 'moref', former: true, seen: off }, UNLISTED],
      ['it is back there', { foundBy: 'vc2', foundAs: 'moref', former: true }, undefined],
      [
        'what it has left is there, and it does not run',
        { there: left, other: { ready: silent } },
        undefined,
      ],
      ['a copy is there, and it has no claim', { there: copy, says: unclaimed }, UNLISTED],
      ['a copy was found there, and is not shown', { foundBy: 'vc2', foundAs: 'biosUUID' }, UNLISTED],
      ['a copy is there, and it does not run', { there: copy, other: { ready: silent } }, undefined],
      ['its last probe found its VM in another vCenter', { foundBy: 'vc2' }, undefined],
      ['its VM has been missing for long', { missingFor: 1000, other: { ready: silent } }, undefined],
      ['the same, and it runs', { missingFor: 1000 }, UNLISTED],
      ['the same, and somebody lets it go', { missingFor: 1000, other: meant }, undefined],
      ['somebody lets it go, and its VM has only just gone missing', { missingFor: 1, other: meant }, LISTED],
      [
        'the same, and somebody holds it',
        { missingFor: 1000, other: { ready, deletionAnnotation: 'hold' } },
        UNLISTED,
      ],
      ['it is being deleted', { other: { ready, deleting: true } }, undefined],
      ['it is being deleted, and its VM is shown', { here: found, other: { ready, deleting: true } }, LISTED],
    ] as const satisfies readonly (readonly [string, World, unknown])[]) {
      t.same(setUp(world).inhabitantsOf(), expected, what)
    }
  },
)

/** `worker-1`, whose VM was here and is missing, beside another Node that this vCenter does not show. */
function setUpBeside(
  other: Node,
  status: NodeReportStatus | undefined,
  { there = NONE, found }: { readonly there?: Lookup; readonly found?: Partial<VCenterProbe> | undefined },
) {
  const index = createNodeIndex(SETTINGS.identity)
  index.node('worker-1', node({ name: 'worker-1' }))
  index.report('worker-1', report({ name: 'worker-1', status: { nodeUID: NODE_UID, vm: boundVM() } }))
  index.node(other.name, other)
  if (status !== undefined) index.report(other.name, report({ name: other.name, status }))
  const probes = [probe({ vCenter: 'vc2', ...found })]
  const inhabitantsOf = createInhabitantsOf({
    index,
    tracker: {
      missingFor: (name) => (name === 'worker-1' ? 1000 : 0),
      evidence: (name) =>
        name === other.name && found !== undefined ? absence(facts(), { probes }) : undefined,
    },
    inventories: [
      { vCenter: 'vc1', instanceUUID: () => HERE.vCenterInstanceUUID, lookup: () => NONE },
      { vCenter: 'vc2', instanceUUID: () => 'two', lookup: () => there },
    ],
    node: (name) => (name === other.name ? other : undefined),
    report: (name) => report({ name, status: status ?? {} }),
    absentFor: 1000,
  })
  return { index, inhabitantsOf }
}

t.test('a Ready Node that was never bound tells it too, where no other vCenter shows its VM', async (t) => {
  const UNSHOWN = { kind: 'unshown', names: ['migrated'] }
  for (const [what, condition, reported, there, expected] of [
    ['no other vCenter shows its VM', ready, true, NONE, UNSHOWN],
    ['no other vCenter has been asked yet', ready, true, { state: 'pending' }, UNSHOWN],
    ['another vCenter shows its VM', ready, true, found, undefined],
    ['without a report, nobody looks for it', ready, false, found, UNSHOWN],
    ['it is not Ready', silent, true, NONE, undefined],
  ] as const) {
    const migrated = node({ name: 'migrated', providerID: `vsphere://${BIOS_UUID}`, ready: condition })
    const { index, inhabitantsOf } = setUpBeside(migrated, reported ? {} : undefined, { there })
    t.same(inhabitantsOf(HERE, 'worker-1'), expected, what)
    index.node('unbound', node({ name: 'unbound', uid: 'other', providerID: `vsphere://${BIOS_UUID}` }))
    t.same(inhabitantsOf(HERE, 'unbound'), expected, `${what}, asked for a Node that was never bound either`)
    const empty = { vCenter: 'vc2', vCenterInstanceUUID: 'two' }
    t.equal(inhabitantsOf(empty, 'worker-1'), undefined, 'a vCenter that never had a VM')
  }
})

t.test('a Ready Node whose vCenter is no longer there may live in any that shows nothing', async (t) => {
  const empty = { vCenter: 'vc2', vCenterInstanceUUID: 'two' }
  for (const [what, home, condition, expected] of [
    ['it was installed anew', 'before', ready, { kind: 'unshown', names: ['other'] }],
    ['the same, and it is not Ready', 'before', silent, undefined],
    ['its vCenter is there', HERE.vCenterInstanceUUID, ready, undefined],
  ] as const) {
    const vm = { ...boundVM(), vCenterInstanceUUID: home }
    const { inhabitantsOf } = setUpBeside(
      node({ name: 'other', uid: 'other', ready: condition }),
      { nodeUID: 'other', vm },
      {},
    )
    t.same(inhabitantsOf(empty, 'worker-1'), expected, what)
  }
})

t.test('what was seen for a Node that was never bound is told from a copy elsewhere', async (t) => {
  const migrated = node({ name: 'migrated', uid: 'other', providerID: `vsphere://${BIOS_UUID}`, ready })
  for (const [what, there, expected] of [
    ['it has moved', inTwo({ claim: undefined }), undefined],
    ['a copy with another instance UUID', copy, { kind: 'unlisted', names: ['migrated'] }],
  ] as const) {
    const status = { nodeUID: 'other', namedVM: boundVM() }
    const { inhabitantsOf } = setUpBeside(migrated, status, { there })
    t.same(inhabitantsOf(HERE, 'worker-1'), expected, what)
  }
})

t.test(
  'a Ready Node of another vCenter tells it while none shows its VM, which may have moved',
  async (t) => {
    const UNSHOWN = { kind: 'unshown', names: ['moved'] }
    const disconnected = { connectionState: 'disconnected' } as const
    const away: Lookup = {
      state: 'answered',
      vms: [vm({ ...disconnected, vCenter: { name: 'vc2', instanceUUID: 'two' } })],
    }
    const seen = { state: 'found', vm: seenVM() } as const
    const seenAway = { state: 'found', vm: seenVM(disconnected) } as const
    for (const [what, condition, there, foundAs, expected] of [
      ['it is shown nowhere', ready, NONE, undefined, UNSHOWN],
      ['its vCenter shows it', ready, found, undefined, undefined],
      ['its vCenter shows it, on a host that is away', ready, away, undefined, undefined],
      ['its last probe found it in its vCenter', ready, NONE, { instanceUUID: seen }, undefined],
      ['the same, on a host that is away', ready, NONE, { moref: seenAway }, undefined],
      ['it is not Ready', silent, NONE, undefined, undefined],
    ] as const) {
      const moved = node({ name: 'moved', uid: 'other', ready: condition })
      const its = { ...boundVM(), vCenter: 'vc2', vCenterInstanceUUID: 'two' }
      const { inhabitantsOf } = setUpBeside(moved, { nodeUID: 'other', vm: its }, { there, found: foundAs })
      t.same(inhabitantsOf(HERE, 'worker-1'), expected, what)
    }
  },
)

t.test('the Node itself, Nodes that are gone, and Nodes of other vCenters tell nothing', async (t) => {
  const { inhabitantsOf, index } = setUp({ here: found })
  t.equal(inhabitantsOf({ vCenter: 'vc2', vCenterInstanceUUID: 'two' }), undefined)
  t.same(inhabitantsOf(), LISTED)
  index.node('worker-2', undefined)
  t.equal(inhabitantsOf(), undefined)
})
