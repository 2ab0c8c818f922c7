import t from 'tap'
import { BIOS_UUID, boundVM, SWAPPED_UUID, vm } from '../../../test/fixtures/facts.ts'
import type { Lookup } from '../../facts/vcenter-view.ts'
import type { VirtualMachine } from '../../facts/virtual-machine.ts'
import { presenceOf } from './presence.ts'

const PENDING: Lookup = { state: 'pending' }
const FAILURE = { vCenter: 'vc1', reason: 'Unreachable', message: 'no route' }
const UNKNOWN: Lookup = { state: 'unknown', failure: FAILURE }
const answered = (...vms: readonly Partial<VirtualMachine>[]): Lookup => ({
  state: 'answered',
  vms: vms.map((changes) => vm(changes)),
})
const NONE = { state: 'answered', vms: [] } as const
const HERE = answered({})
const OTHER = { reference: 'vm-7', instanceUUID: '50000000-0000-4000-8000-000000000007' }
const ELSEWHERE = { vCenter: { name: 'vc2', instanceUUID: 'cccccccc-2222-4333-8444-555555555555' } }

const GROUP = [boundVM().instanceUUID, OTHER.instanceUUID]
const FIRST = { faultTolerance: { role: 1, instanceUUIDs: GROUP } }
const SECOND = { faultTolerance: { role: 2, instanceUUIDs: GROUP } }

/** One answer for each vCenter. */
const ROWS: readonly [what: string, lookups: readonly Lookup[], kind: string][] = [
  ['it is there', [HERE], 'seen'],
  ['there, off', [answered({ powerState: 'poweredOff' })], 'seen'],
  ['there, on a host that is away', [answered({ connectionState: 'disconnected' })], 'seen'],
  ['there, without a UUID', [answered({ biosUUID: undefined, connectionState: 'inaccessible' })], 'seen'],
  ['registered again: its instance UUID stays', [answered({ reference: 'vm-99' })], 'seen'],
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
  ['gone, and its secondary is there', [answered({ ...OTHER, ...SECOND })], 'unknown'],
  ['nowhere', [NONE, NONE], 'missed'],
  ['no vCenter at all', [], 'pending'],
  ['a copy, and another vCenter fails', [UNKNOWN, answered(OTHER)], 'other'],
  ['there, while another vCenter fails', [UNKNOWN, HERE], 'seen'],
  ['there, while another vCenter has not answered', [PENDING, HERE], 'seen'],
  ['not there, and another vCenter fails', [NONE, UNKNOWN], 'unknown'],
  ['not there, and another vCenter has not answered', [NONE, PENDING], 'pending'],
  ['one fails, and another has not answered', [UNKNOWN, PENDING], 'pending'],
]

for (const [what, lookups, kind] of ROWS) {
  t.test(`${what}: ${kind}`, async (t) => {
    const all = lookups.map((lookup, i) => ({ vCenter: `vc${i + 1}`, uuid: BIOS_UUID, lookup }))
    t.equal(presenceOf(boundVM(), all).kind, kind)
    t.equal(presenceOf(boundVM(), all.toReversed()).kind, kind, 'in any order')
  })
}

t.test('only the UUID that it was bound by counts', async (t) => {
  const other = { vCenter: 'vc1', uuid: SWAPPED_UUID }
  const own = { vCenter: 'vc1', uuid: BIOS_UUID }
  t.equal(
    presenceOf(boundVM(), [
      { ...own, lookup: NONE },
      { ...other, lookup: UNKNOWN },
    ]).kind,
    'missed',
  )
  t.equal(
    presenceOf(boundVM(), [
      { ...own, lookup: HERE },
      { ...other, lookup: PENDING },
    ]).kind,
    'seen',
  )
})

t.test('the VM is as the inventory has it now, and the failure as it was told', async (t) => {
  const lookup = answered(OTHER, { reference: 'vm-99', name: 'renamed' })
  t.match(presenceOf(boundVM(), [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup }]), {
    vm: { reference: 'vm-99', name: 'renamed' },
  })
  t.match(presenceOf(boundVM(), [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: UNKNOWN }]), { failure: FAILURE })
})

t.test('a VM without an instance UUID is known by its reference alone', async (t) => {
  const bound = boundVM({ instanceUUID: '', moref: 'vm-7' })
  const lookup = answered({ instanceUUID: '' })
  t.equal(presenceOf(bound, [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup }]).kind, 'other')
})

t.test('of a Fault Tolerance group, what runs says whether the machine does', async (t) => {
  const off = { powerState: 'poweredOff' } as const
  const seen = (...vms: readonly Partial<VirtualMachine>[]) =>
    presenceOf(boundVM(), [{ vCenter: 'vc1', uuid: BIOS_UUID, lookup: answered(...vms) }])
  t.match(seen({ ...SECOND, ...off }, { ...OTHER, ...FIRST }), { vm: { powerState: 'poweredOn' } })
  t.match(seen(FIRST, { ...OTHER, ...SECOND, ...off }), { vm: { powerState: 'poweredOn' } })
  t.match(
    seen({ ...FIRST, ...off }, { ...OTHER, ...FIRST }),
    { vm: { powerState: 'poweredOn' } },
    'roles change',
  )
  t.match(seen({ ...FIRST, ...off }, { ...OTHER, ...SECOND, ...off }), { vm: { powerState: 'poweredOff' } })
})
