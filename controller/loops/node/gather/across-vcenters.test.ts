import t from 'tap'
import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import { boundVM, facts, vm } from '../../../../test/fixtures/facts.ts'
import { inventory } from '../../../../test/fixtures/sources.ts'
import type { Lookup } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { findVM } from '../decide/identity/find-vm.ts'
import { lookUpInAll, oneViewOfEach } from './across-vcenters.ts'

const UUID = vm().biosUUID ?? ''
const { instanceUUID } = vm().vCenter
const FAILURE = { vCenter: 'hr', reason: 'Unreachable', message: 'cannot be reached' } as const
const FAILED: Lookup = { state: 'unknown', failure: FAILURE }

/** The VM, which is in DC0, as the account of an entry sees it. */
const seenBy = (name: string, changes: Partial<VirtualMachine> = {}): VirtualMachine =>
  vm({ vCenter: { name, instanceUUID }, ...changes })
const answer = (...vms: VirtualMachine[]) => ({ state: 'answered', vms }) as const
const inDC1 = (name: string): VirtualMachine => {
  const { ancestry } = vm()
  if (ancestry === undefined) throw new Error('it has one')
  const moved = (above: typeof ancestry.folder) =>
    above.map((each) => (each.type === 'Datacenter' ? { ...each, name: 'DC1' } : each))
  const elsewhere = { ...ancestry, folder: moved(ancestry.folder), compute: moved(ancestry.compute) }
  return seenBy(name, { moref: 'vm-43', ancestry: elsewhere })
}

interface Case {
  readonly is: string
  readonly finance: Lookup
  readonly hr: Lookup
  readonly datacenters?: Record<string, string[]>
  readonly boundBy?: string
  /** By whom the VM is seen, or what stands in the place of finance's answer. */
  readonly expected: readonly string[] | Lookup['state']
  readonly servers?: Record<string, string>
  /** Whether finance does not know all. */
  readonly incomplete?: true
}

const HR = { finance: ['DC1'], hr: ['DC0'] }
const SAME = { finance: 'vc 443', hr: 'vc 443' }
const cases: readonly Case[] = [
  { is: 'seen by both', finance: answer(seenBy('finance')), hr: answer(seenBy('hr')), expected: ['finance'] },
  {
    is: 'seen by both, bound by the second',
    finance: answer(seenBy('finance')),
    hr: answer(seenBy('hr')),
    boundBy: 'hr',
    expected: ['hr'],
  },
  {
    is: "seen by both, in the second's datacenter, whoever it is bound by",
    finance: answer(seenBy('finance')),
    hr: answer(seenBy('hr')),
    datacenters: HR,
    boundBy: 'finance',
    expected: ['hr'],
  },
  {
    is: 'the first may read less',
    finance: answer(seenBy('finance', { unreadable: ['guestNICs'] })),
    hr: answer(seenBy('hr')),
    expected: ['hr'],
  },
  {
    is: 'where it is has been read by one of them',
    finance: answer(seenBy('finance', { ancestry: undefined })),
    hr: answer(seenBy('hr')),
    datacenters: { finance: ['DC0'], hr: ['DC0'] },
    expected: ['hr'],
  },
  { is: 'seen by one', finance: answer(), hr: answer(seenBy('hr')), expected: ['hr'] },
  {
    is: 'two VMs',
    finance: answer(seenBy('finance')),
    hr: answer(seenBy('hr', { moref: 'vm-43' })),
    expected: ['finance', 'hr'],
  },
  {
    is: 'two vCenters that use one reference',
    finance: answer(seenBy('finance')),
    hr: answer(vm({ vCenter: { name: 'hr', instanceUUID: 'another' } })),
    expected: ['finance', 'hr'],
  },
  {
    is: "in no datacenter of the one that shows it, and the other's is not known yet",
    finance: answer(seenBy('finance')),
    hr: { state: 'pending' },
    datacenters: HR,
    expected: 'pending',
  },
  {
    is: 'the same, where the other one fails',
    finance: answer(seenBy('finance')),
    hr: FAILED,
    datacenters: HR,
    expected: 'unknown',
  },
  {
    is: 'the same, where the other one is another server',
    finance: answer(seenBy('finance')),
    hr: FAILED,
    datacenters: HR,
    servers: { finance: 'vc 443', hr: 'vc 8443' },
    expected: ['finance'],
  },
  {
    is: 'the same, where the other one does not know all',
    finance: answer(seenBy('finance')),
    hr: { ...answer(), incomplete: FAILURE },
    datacenters: HR,
    expected: [],
    incomplete: true,
  },
  {
    is: 'beside a copy in the datacenter of the one that shows both, where the other one does not know all',
    finance: answer(seenBy('finance'), inDC1('finance')),
    hr: { ...answer(), incomplete: FAILURE },
    datacenters: { finance: ['DC0'], hr: ['DC1'] },
    expected: ['finance'],
    incomplete: true,
  },
  {
    is: 'in the datacenter of the one that shows it, and the other fails',
    finance: answer(seenBy('finance')),
    hr: FAILED,
    datacenters: { finance: ['DC0'], hr: ['DC1'] },
    expected: ['finance'],
  },
]

for (const { is, finance, hr, datacenters = {}, boundBy, expected, servers = SAME, incomplete } of cases)
  t.test(is, async (t) => {
    const lookups = oneViewOfEach(
      [
        { vCenter: 'finance', uuid: UUID, lookup: finance },
        { vCenter: 'hr', uuid: UUID, lookup: hr },
      ],
      boundBy,
      { datacenters, servers },
    )
    if (typeof expected === 'string') {
      t.equal(lookups[0]?.lookup.state, expected)
      return
    }
    const seen = lookups.flatMap(({ lookup }) => (lookup.state === 'answered' ? lookup.vms : []))
    t.same(
      seen.map(({ vCenter }) => vCenter.name),
      expected,
    )
    const [first] = lookups
    t.match(first?.lookup, incomplete ? { incomplete: FAILURE } : { incomplete: undefined })
  })

t.test('a VM that two accounts may read is no copy, even without an agent', async (t) => {
  const both = [
    { vCenter: 'finance', uuid: UUID, lookup: answer(seenBy('finance')) },
    { vCenter: 'hr', uuid: UUID, lookup: answer(seenBy('hr')) },
  ]
  const { report } = facts()
  if (report?.spec.ok !== true) throw new Error('the report is valid')
  const query = {
    machine: { witness: 'asserted', uuids: [UUID] },
    spec: report.spec.value,
    bound: undefined,
  } as const
  t.match(findVM(query, facts({ lookups: both })), { condition: { reason: 'AmbiguousUUID' } })
  const lookups = oneViewOfEach(both, undefined, { datacenters: {}, servers: SAME })
  t.match(findVM(query, facts({ lookups })), { outcome: 'found', vm: { vCenter: { name: 'finance' } } })
})

t.test('a clone says no more of the VM of a Node that is refused for now', async (t) => {
  const inventories = [
    inventory({ vCenter: 'clone', instanceUUID: () => instanceUUID, lookup: () => answer(seenBy('clone')) }),
    inventory({ vCenter: 'real', instanceUUID: () => instanceUUID }),
  ]
  const settings = { datacenters: {}, servers: { clone: 'a 443', real: 'b 443' } }
  const shown = (previous: NodeReportStatus) =>
    lookUpInAll([UUID], { boundTo: undefined, previous }, inventories, settings)[0]?.lookup
  t.match(shown({ vm: boundVM({ vCenter: 'real' }) }), { state: 'unknown', alone: true })
  t.match(shown({}), { state: 'answered', vms: [{ vCenter: { name: 'clone' } }] })
})
