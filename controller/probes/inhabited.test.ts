import t from 'tap'
import { BIOS_UUID, boundVM, NODE_UID, node, report, SETTINGS, vm } from '../../test/fixtures/facts.ts'
import { createNodeIndex } from '../gather/node-index.ts'
import type { Lookup } from '../types/inventory.ts'
import { createInhabited } from './inhabited.ts'

const HERE = { vCenter: 'vc1', vCenterInstanceUUID: boundVM().vCenterInstanceUUID }
const NONE: Lookup = { state: 'answered', vms: [] }
const failure = { vCenter: 'vc1', reason: 'NoPermission' as const, message: 'it may not be read' }

/** Two Nodes of this vCenter. */
function setUp(missingFor: Readonly<Record<string, number>>, lookup: Lookup = NONE, ready = false) {
  const index = createNodeIndex(SETTINGS.identity)
  const status = { nodeUID: NODE_UID, vm: boundVM(), identityLevel: 'proven' as const }
  for (const name of ['worker-1', 'worker-2']) {
    index.node(name, node({ name }))
    index.report(name, report({ name, status }))
  }
  const isInhabited = createInhabited({
    index,
    tracker: { missingFor: (name) => missingFor[name] ?? 0 },
    inventories: [
      { vCenter: 'vc1', lookup: (uuid) => (uuid === BIOS_UUID ? lookup : NONE) },
      { vCenter: 'vc2', lookup: () => NONE },
    ],
    isReady: () => ready,
    absentFor: 1000,
  })
  return { isInhabited: (vCenter = HERE) => isInhabited(vCenter, 'worker-1'), index }
}

t.test(
  'another Node tells that a vCenter has a VM, unless its VM has been missing for long, or elsewhere',
  async (t) => {
    for (const [what, missingFor, lookup, expected] of [
      ['its VM is shown', 0, { state: 'answered', vms: [vm()] }, true],
      ['its VM cannot be asked for', 0, { state: 'unknown', failure }, true],
      ['its VM was not asked for yet', 0, { state: 'pending' }, true],
      ['its VM has only just gone missing', 1, NONE, true],
      ['its VM has been missing for long', 1000, NONE, false],
      ['its VM is not there, and it is not missing', 0, NONE, false],
    ] as const) {
      t.equal(setUp({ 'worker-2': missingFor }, lookup).isInhabited(), expected, what)
    }
  },
)

t.test('a Ready Node that was never bound tells it too, where no other vCenter shows its VM', async (t) => {
  const found: Lookup = { state: 'answered', vms: [vm()] }
  for (const [what, ready, reported, there, expected] of [
    ['no other vCenter shows its VM', true, true, NONE, true],
    ['no other vCenter has been asked yet', true, true, { state: 'pending' }, true],
    ['another vCenter shows its VM', true, true, found, false],
    ['without a report, nobody looks for it', true, false, found, true],
    ['it is not Ready', false, true, NONE, false],
  ] as const) {
    const index = createNodeIndex(SETTINGS.identity)
    index.node('worker-1', node({ name: 'worker-1' }))
    index.report('worker-1', report({ name: 'worker-1', status: { nodeUID: NODE_UID, vm: boundVM() } }))
    index.node('migrated', node({ name: 'migrated', providerID: `vsphere://${BIOS_UUID}` }))
    if (reported) index.report('migrated', report({ name: 'migrated' }))
    const isInhabited = createInhabited({
      index,
      tracker: { missingFor: () => 0 },
      inventories: [
        { vCenter: 'vc1', lookup: () => NONE },
        { vCenter: 'vc2', lookup: () => there },
      ],
      isReady: (name) => ready && name === 'migrated',
      absentFor: 1000,
    })
    t.equal(isInhabited(HERE, 'worker-1'), expected, what)
    index.node('unbound', node({ name: 'unbound', uid: 'other', providerID: `vsphere://${BIOS_UUID}` }))
    t.equal(isInhabited(HERE, 'unbound'), expected, `${what}, asked for a Node that was never bound either`)
    const empty = { vCenter: 'vc2', vCenterInstanceUUID: 'two' }
    t.equal(isInhabited(empty, 'worker-1'), false, 'a vCenter that never had a VM')
  }
})

t.test('the Node itself, Nodes that are gone, and Nodes of other vCenters tell nothing', async (t) => {
  const { isInhabited, index } = setUp({}, { state: 'answered', vms: [vm()] })
  t.equal(isInhabited({ vCenter: 'vc2', vCenterInstanceUUID: 'two' }), false)
  t.equal(isInhabited(), true)
  index.node('worker-2', undefined)
  t.equal(isInhabited(), false)
})
