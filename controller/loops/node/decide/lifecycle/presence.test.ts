import t from 'tap'
import { BIOS_UUID, boundVM, SWAPPED_UUID, vm } from '../../../../../test/fixtures/facts.ts'
import type { Lookup } from '../../../../types/inventory.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { NodeMachines } from '../../facts/machines.ts'
import { presenceOf } from './presence.ts'

const PENDING: Lookup = { state: 'pending' }
const FAILURE = { vCenter: 'vc1', reason: 'Unreachable' as const, message: 'no route' }
const UNKNOWN: Lookup = { state: 'unknown', failure: FAILURE }
const answered = (...vms: readonly Partial<VirtualMachine>[]): Lookup => ({
  state: 'answered',
  vms: vms.map((changes) => vm(changes)),
})
const NONE = { state: 'answered', vms: [] } as const
const HERE = answered({})
const INCOMPLETE = { ...NONE, incomplete: FAILURE }
const OTHER = { moref: 'vm-7', instanceUUID: '50000000-0000-4000-8000-000000000007' }
const ELSEWHERE = { vCenter: { name: 'vc2', instanceUUID: 'cccccccc-2222-4333-8444-555555555555' } }

const GROUP = [boundVM().instanceUUID, OTHER.instanceUUID]
const FIRST = { faultTolerance: { role: 1, instanceUUIDs: GROUP } }
const SECOND = { faultTolerance: { role: 2, instanceUUIDs: GROUP } }
const BOUND: NodeMachines = { machines: [boundVM({ group: GROUP })], bound: true }

/** One answer for each vCenter. */
const ROWS: readonly [what: string, lookups: readonly Lookup[], kind: string][] = [
  ['it is there', [HERE], 'seen'],
  ['there, off', [answered({ powerState: 'poweredOff' })], 'seen'],
  ['there, on a host that is away', [answered({ connectionState: 'disconnected' })], 'seen'],
  ['there, without a UUID', [answered({ biosUUID: undefined, connectionState: 'inaccessible' })], 'seen'],
  ['registered again: its instance UUID stays', [answered({ moref: 'vm-99' })], 'named'],
  [
    'its instance UUID changed: the reference stays',
    [answered({ instanceUUID: OTHER.instanceUUID })],
    'seen',
  ],
  ['a copy of it alone', [answered(OTHER)], 'other'],
  ['its like in another vCenter', [NONE, answered(ELSEWHERE)], 'other'],
  ['there, with its secondary', [answered(FIRST, { ...OTHER, ...SECOND })], 'seen'],
  ['a secondary by now', [answered(SECOND, { ...OTHER, ...FIRST })], 'seen'],
  ['gone, and its secondary became the primary', [answered({ ...OTHER, ...FIRST })], 'seen'],
  [
    'gone, and a copy is there that names its group',
    [answered({ ...OTHER, ...FIRST, instanceUUID: '50000000-0000-4000-8000-000000000009' })],
    'other',
  ],
  ['gone, and its secondary is there', [answered({ ...OTHER, ...SECOND })], 'unknown'],
  ['nowhere', [NONE, NONE], 'missing'],
  ['no vCenter at all', [], 'pending'],
  ['a copy, and another vCenter fails', [UNKNOWN, answered(OTHER)], 'other'],
  ['there, while another vCenter fails', [UNKNOWN, HERE], 'seen'],
  ['there, while another vCenter has not answered', [PENDING, HERE], 'seen'],
  ['not there, and another vCenter fails', [NONE, UNKNOWN], 'unknown'],
  ['not there, and another vCenter has not answered', [NONE, PENDING], 'pending'],
  ['not there, and not all are known', [INCOMPLETE, NONE], 'unknown'],
  ['not there, not all are known, and another vCenter has not answered', [INCOMPLETE, PENDING], 'pending'],
  ['there, and not all are known', [{ state: 'answered', vms: [vm()], incomplete: FAILURE }], 'seen'],
  ['one fails, and another has not answered', [UNKNOWN, PENDING], 'pending'],
]

for (const [what, lookups, kind] of ROWS) {
  t.test(`${what}: ${kind}`, async (t) => {
    const all = lookups.map((lookup, i) => ({ vCenter: `vc${i + 1}`, uuid: BIOS_UUID, lookup }))
    t.equal(presenceOf(BOUND, all).kind, kind)
    t.equal(presenceOf(BOUND, all.toReversed()).kind, kind, 'in any order')
  })
}

t.test('only the UUID that it was bound by counts', async (t) => {
  const other = { vCenter: 'vc1', uuid: SWAPPED_UUID }
  const own = { vCenter: 'vc1', uuid: BIOS_UUID }
  t.equal(
    presenceOf(BOUND, [
      { ...own, lookup: NONE },
      { ...other, lookup: UNKNOWN },
    ]).kind,
    'missing',
  )
  t.equal(
    presenceOf(BOUND, [
      { ...own, lookup: HERE },
      { ...other, lookup: PENDING },
    ]).kind,
    'seen',
  )
})

t.test('the VM is as the inventory has it now, and the failure as it was told', async (t) => {
  const lookup = answered(OTHER, { name: 'renamed' })
  t.match(presenceOf(BOUND, [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup }]), {
    vm: { moref: 'vm-42', name: 'renamed' },
  })
  t.match(presenceOf(BOUND, [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: UNKNOWN }]), { failure: FAILURE })
})

t.test('a VM without an instance UUID is known by its reference alone', async (t) => {
  const bound = boundVM({ instanceUUID: '', moref: 'vm-7' })
  const lookup = answered({ instanceUUID: '' })
  t.equal(
    presenceOf({ machines: [bound], bound: true }, [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup }]).kind,
    'other',
  )
})

t.test('other machines to which the Node points count as well', async (t) => {
  const named = boundVM({ moref: 'vm-8', instanceUUID: '', biosUUID: '42000000-0000-4000-8000-000000000008' })
  const unseen = boundVM({ vCenterInstanceUUID: '', moref: '', instanceUUID: '', biosUUID: SWAPPED_UUID })
  const nodeMachines: NodeMachines = { machines: [boundVM(), named, unseen], bound: true }
  const presence = (own: Lookup, other: Lookup, third: Lookup) =>
    presenceOf(nodeMachines, [
      { vCenter: 'vc1', uuid: BIOS_UUID, lookup: own },
      { vCenter: 'vc1', uuid: named.biosUUID, lookup: other },
      { vCenter: 'vc1', uuid: SWAPPED_UUID, lookup: third },
    ])
  const eight = answered({ moref: 'vm-8', instanceUUID: '', biosUUID: named.biosUUID })
  const nine = answered({ moref: 'vm-9', instanceUUID: '', biosUUID: SWAPPED_UUID })
  t.match(presence(NONE, eight, NONE), { kind: 'named', vm: { moref: 'vm-8' } })
  t.match(presence(NONE, NONE, nine), { kind: 'named', vm: { moref: 'vm-9' } })
  t.equal(presence(HERE, eight, nine).kind, 'seen', 'the one that it was verified to be comes first')
  t.match(presence(NONE, NONE, HERE), { kind: 'seen' }, 'under whatever UUID')
  t.equal(presence(NONE, nine, NONE).kind, 'other', 'a copy of the known one')
  t.equal(presence(NONE, NONE, PENDING).kind, 'pending')
  t.equal(presence(NONE, UNKNOWN, NONE).kind, 'unknown')
  t.equal(presence(NONE, NONE, NONE).kind, 'missing')
  t.equal(
    presenceOf(nodeMachines, [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: NONE }]).kind,
    'pending',
    'all of them',
  )
})

t.test('of a Fault Tolerance group, what runs says whether the machine does', async (t) => {
  const off = { powerState: 'poweredOff' } as const
  const seen = (...vms: readonly Partial<VirtualMachine>[]) =>
    presenceOf(BOUND, [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: answered(...vms) }])
  t.match(seen({ ...SECOND, ...off }, { ...OTHER, ...FIRST }), { vm: { powerState: 'poweredOn' } })
  t.match(seen(FIRST, { ...OTHER, ...SECOND, ...off }), { vm: { powerState: 'poweredOn' } })
  t.match(
    seen({ ...FIRST, ...off }, { ...OTHER, ...FIRST }),
    { vm: { powerState: 'poweredOn' } },
    'roles change',
  )
  t.match(seen({ ...FIRST, ...off }, { ...OTHER, ...SECOND, ...off }), { vm: { powerState: 'poweredOff' } })
})
