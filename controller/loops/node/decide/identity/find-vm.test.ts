import t from 'tap'
import {
  BIOS_UUID,
  boundVM,
  CLAIM,
  facts,
  MAC,
  NODE_UID,
  NOW,
  node,
  SETTINGS,
  spec,
  vm,
} from '../../../../../test/fixtures/facts.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { NodeFacts } from '../node-facts.ts'
import { findVM } from './find-vm.ts'

const OTHER_MAC = '00:50:56:8e:00:02'
const mine = vm({ claim: undefined })
const copy = vm({
  moref: 'vm-43',
  name: 'copy',
  instanceUUID: '511e3f74-ea84-f9a2-7736-6106bb5dbf6b',
  claim: undefined,
})
const claim = CLAIM
const otherNIC = { nics: [{ mac: OTHER_MAC }] }

const COPIES: { name: string; vms: VirtualMachine[]; bound?: boolean; found: string | undefined }[] = [
  { name: 'nothing tells them apart', vms: [mine, copy], found: undefined },
  { name: 'the claim', vms: [{ ...mine, claim }, copy], found: 'vm-42' },
  {
    name: 'the MAC addresses, against the claim, which whoever is in a copy can write',
    vms: [{ ...mine, claim, ...otherNIC }, copy],
    found: 'vm-43',
  },
  { name: 'the MAC addresses', vms: [mine, { ...copy, ...otherNIC }], found: 'vm-42' },
  {
    name: 'MAC addresses of neither',
    vms: [
      { ...mine, ...otherNIC },
      { ...copy, ...otherNIC },
    ],
    found: undefined,
  },
  {
    name: 'a copied claim and the MAC addresses',
    vms: [
      { ...mine, claim },
      { ...copy, claim, ...otherNIC },
    ],
    found: 'vm-42',
  },
  {
    name: 'a copied claim and copied MAC addresses',
    vms: [
      { ...mine, claim },
      { ...copy, claim },
    ],
    found: undefined,
  },
  { name: 'which one it was before', vms: [mine, copy], bound: true, found: 'vm-42' },
  {
    name: 'which one it was before, under a new reference',
    vms: [{ ...mine, moref: 'vm-50', claim }, copy],
    bound: true,
    found: 'vm-50',
  },
  {
    name: 'the claim, against which one it was before and that never showed one',
    vms: [mine, { ...copy, claim }],
    bound: true,
    found: 'vm-43',
  },
  {
    name: 'which one it was before, off, against one that runs and claims',
    vms: [
      { ...mine, powerState: 'poweredOff' },
      { ...copy, claim },
    ],
    bound: true,
    found: 'vm-42',
  },
  {
    name: 'the claim of one that is off, which it wrote before',
    vms: [
      { ...mine, powerState: 'poweredOff' },
      { ...copy, claim },
    ],
    found: 'vm-43',
  },
  { name: 'one is orphaned', vms: [mine, { ...copy, connectionState: 'orphaned' }], found: 'vm-42' },
  {
    name: 'one has lost its host, and may run',
    vms: [mine, { ...copy, connectionState: 'disconnected' }],
    found: undefined,
  },
  ...(['disconnected', 'inaccessible', 'orphaned', 'invalid'] as const).map((connectionState) => ({
    name: `one is an ${connectionState} entry of the other, whatever it shows`,
    vms: [
      { ...mine, claim, connectionState },
      { ...mine, moref: 'vm-50' },
    ],
    found: 'vm-50',
  })),
  {
    name: 'one has its instance UUID in another vCenter, and has lost its host',
    vms: [
      mine,
      {
        ...mine,
        moref: 'vm-50',
        connectionState: 'disconnected' as const,
        vCenter: { name: 'vc2', instanceUUID: 'two' },
      },
    ],
    found: undefined,
  },
  { name: 'one is a template', vms: [mine, { ...copy, template: true }], found: 'vm-42' },
  {
    name: 'one is a template and the other has other MAC addresses, which contradicts it later',
    vms: [
      { ...mine, ...otherNIC },
      { ...copy, template: true },
    ],
    found: 'vm-42',
  },
  {
    name: 'three, two of them with its MAC addresses',
    vms: [mine, copy, vm({ moref: 'vm-44', claim: undefined, ...otherNIC })],
    found: undefined,
  },
]

for (const row of COPIES) {
  t.test(`one UUID, several VMs: ${row.name}`, async (t) => {
    const search = findVM(
      {
        machine: { witness: 'reported', uuids: ['420e3f74-ea84-f9a2-7736-6106bb5dbf6b'] },
        spec: spec(),
        bound: row.bound === true ? boundVM() : undefined,
      },
      facts({ vms: row.vms }),
    )
    if (row.found !== undefined) t.match(search, { outcome: 'found', vm: { moref: row.found } })
    else {
      t.match(search, { outcome: 'refused', condition: { reason: 'AmbiguousUUID' } })
      for (const { moref } of row.vms.slice(0, 4))
        t.match(search, { condition: { message: new RegExp(moref) } }, 'each is named')
    }
  })
}

t.test('of two VMs with one UUID the one that runs is taken, once the claim has had its time', async (t) => {
  const off = (vm: VirtualMachine, powerState: 'poweredOff' | 'suspended' = 'poweredOff') => ({
    ...vm,
    powerState,
  })
  const machine = { witness: 'reported', uuids: [BIOS_UUID] } as const
  const find = (vms: readonly VirtualMachine[], claim = spec().claim, age = 3_600_000) =>
    findVM(
      { machine, spec: spec({ claim }), bound: undefined },
      facts({ vms, node: node({ creationTimestamp: new Date(NOW - age).toISOString() }) }),
    )
  t.match(find([off(mine), copy]), { outcome: 'found', vm: { moref: 'vm-43' } })
  t.match(find([mine, off(copy, 'suspended')]), { outcome: 'found', vm: { moref: 'vm-42' } })
  t.match(find([off(mine), off(copy)]), { outcome: 'refused', condition: { reason: 'AmbiguousUUID' } })
  t.match(
    find([off(mine), copy], spec().claim, 1_000),
    {
      outcome: 'unknown',
      alone: true,
      condition: { reason: 'AmbiguousUUID', message: /vm-43.* and .*vm-42.*, which is poweredOff,.* yet/ },
    },
    'the agent has just written its claim',
  )
  t.match(
    find([off(mine), copy], { written: false, reason: 'NoTools', message: '' }, 1_000),
    { vm: { moref: 'vm-43' } },
    'no claim is to be expected',
  )
})

const GROUP = [mine.instanceUUID ?? '', copy.instanceUUID ?? '']
const role = (vm: VirtualMachine, role: number): VirtualMachine => ({
  ...vm,
  faultTolerance: { role, instanceUUIDs: GROUP },
})

t.test('of a Fault Tolerance group the primary is the VM, whichever the Node was before', async (t) => {
  const query = {
    machine: { witness: 'reported', uuids: [BIOS_UUID] },
    spec: spec(),
    bound: boundVM({ group: GROUP }),
  } as const
  const find = (...vms: VirtualMachine[]) => findVM(query, facts({ vms }))
  t.match(find(role(mine, 1), role(copy, 2)), { outcome: 'found', vm: { moref: 'vm-42' } })
  t.match(
    find(role(mine, 2), role(copy, 1)),
    { outcome: 'found', vm: { moref: 'vm-43' } },
    'after a failover',
  )
  t.match(find(role(mine, 2), role({ ...copy, claim }, 1)), { vm: { moref: 'vm-43' } })
  t.match(find(mine, role(copy, 2)), { vm: { moref: 'vm-42' } }, 'the primary is told last')
  const asserted = { ...query, machine: { witness: 'asserted', uuids: [BIOS_UUID] } } as const
  t.match(findVM(asserted, facts({ vms: [role(mine, 1), role(copy, 2)] })), { vm: { moref: 'vm-42' } })
  const stranger = { ...copy, moref: 'vm-44', instanceUUID: NODE_UID }
  t.match(find(role(mine, 1), role(copy, 2), stranger), { vm: { moref: 'vm-42' } }, 'beside a copy')
  const copied = role({ ...stranger, ...otherNIC }, 1)
  t.match(find(role(mine, 1), role(copy, 2), copied), { vm: { moref: 'vm-42' } }, 'a copy is of no group')
  for (const [what, vms] of [
    ['only the secondary is shown', [role(copy, 2)]],
    ['roles change, and neither is the primary', [role(mine, 2), role(copy, 2)]],
    ['roles change, and both are', [role(mine, 1), role(copy, 1)]],
  ] as const) {
    const search = find(...vms)
    t.match(search, { outcome: 'unknown', condition: { reason: 'FaultToleranceSecondary' } }, what)
  }
})

t.test('a UUID that two vCenters answer to is ambiguous', async (t) => {
  const there = { ...copy, vCenter: { name: 'vc2', instanceUUID: 'x' } }
  const query = {
    machine: { witness: 'reported', uuids: [BIOS_UUID] },
    spec: spec(),
    bound: undefined,
  } as const
  const lookups = [
    { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [mine] } },
    { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [there] } },
  ] as const
  t.match(findVM(query, facts({ lookups })), {
    outcome: 'refused',
    condition: { message: /vc1.*vc2/ },
  })

  const none = { vCenter: 'vc1', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [] } } as const
  const pending = { vCenter: 'vc3', uuid: BIOS_UUID, lookup: { state: 'pending' } } as const
  const failure = { vCenter: 'vc4', reason: 'Unreachable' as const, message: 'it does not answer' }
  const unknown = { vCenter: 'vc4', uuid: BIOS_UUID, lookup: { state: 'unknown', failure } } as const
  const found = lookups[0]
  const claimed = { ...found, lookup: { state: 'answered', vms: [vm()] } } as const
  const more = (each: typeof found | typeof claimed | typeof none) => ({
    ...each,
    lookup: { ...each.lookup, incomplete: failure },
  })
  const rows = [
    [[more(claimed)], 'found', 'with a claim, it does not matter that there are more'],
    [[more(found)], 'unknown', 'without one, the others may be the VM of which this is a copy'],
    [[more(none), none], 'unknown', 'it may be among those that are not known'],
    [[claimed, pending], 'found', 'with a claim, one vCenter does not wait for another'],
    [[claimed, unknown], 'found', 'nor for one that does not answer'],
    [[found, pending], 'pending', 'without one, another vCenter may have its copy'],
    [[found, unknown], 'unknown', 'or the VM of which this is a copy'],
    [[none, pending], 'pending', 'it may yet be found'],
    [[unknown, pending], 'pending', 'what fails is not told while it may yet be found'],
    [[none, unknown], 'unknown', 'that one has not said it proves nothing'],
    [[none, none], 'not-found', 'all have answered'],
  ] as const
  for (const [seen, outcome, why] of rows)
    t.equal(findVM(query, facts({ lookups: seen })).outcome, outcome, why)
  const asserted = { ...query, machine: { witness: 'asserted', uuids: [BIOS_UUID] } } as const
  t.equal(
    findVM(asserted, facts({ lookups: [found, unknown] })).outcome,
    'unknown',
    'the UUID is all there is',
  )
  t.equal(findVM(asserted, facts({ lookups: [found, pending] })).outcome, 'pending')
  const settings = { ...SETTINGS, identity: { ...SETTINGS.identity, requireAllVCenters: false } }
  const heedless = (...lookups: NodeFacts['lookups']) =>
    findVM(asserted, facts({ lookups, settings })).outcome
  t.equal(heedless(found, unknown), 'found', 'where a person has said so, one that is away is not waited for')
  t.equal(heedless(found, pending), 'pending', 'but one that is about to answer')
  t.equal(heedless(more(found)), 'unknown', 'and VMs that could not be read')
  t.equal(heedless(found, { ...found, vCenter: 'vc2' }), 'refused', 'and two that fit are two')
  const bound = boundVM({
    vCenter: 'vc2',
    vCenterInstanceUUID: 'x',
    moref: there.moref,
    instanceUUID: there.instanceUUID ?? '',
  })
  const copied = { vCenter: 'vc2', uuid: BIOS_UUID, lookup: { state: 'answered', vms: [there] } } as const
  t.match(
    findVM({ ...query, bound }, facts({ lookups: [claimed, copied], settings })),
    { outcome: 'found', vm: { moref: 'vm-42' }, move: { name: 'FirstProof' } },
    'a Node that got a copy meanwhile gets its VM once that shows its claim',
  )
  t.equal(MAC, mine.nics[0]?.mac)
  t.match(
    findVM(asserted, facts({ lookups: [found, unknown] })),
    { condition: { message: /worker-1.* it does not answer; .*identity\.requireAllVCenters: false/ } },
    'the way out is told',
  )
  t.notMatch(
    findVM(asserted, facts({ lookups: [more(found)] })),
    { condition: { message: /requireAllVCenters/ } },
    'but not where it leads nowhere',
  )
})

t.test('a UUID that nothing has names the vCenters that were asked, once each', async (t) => {
  const uuids = [BIOS_UUID, '00112233-4455-6677-8899-aabbccddeeff']
  const lookups = ['vc1', 'vc2'].flatMap((vCenter) =>
    uuids.map((uuid) => ({ vCenter, uuid, lookup: { state: 'answered' as const, vms: [] } })),
  )
  const query = { machine: { witness: 'asserted' as const, uuids }, spec: spec(), bound: undefined }
  t.match(findVM(query, { ...facts(), lookups }), {
    condition: { message: 'is visible in vCenter vc1, vc2; check' },
  })
})
