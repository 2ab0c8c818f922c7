import t from 'tap'
import { readMachine, type VMProperties } from '../properties/resync-properties.ts'
import { VCenterError } from '../wire/errors.ts'
import type { XMLElement } from '../wire/xml.ts'
import { chooseCandidates, ExpectedVMs, judgeCandidates, Sightings } from './vms-of-uuid.ts'

const vmsCalled = (name: string, count: number) => Array.from({ length: count }, (_, i) => `${name}-${i}`)
const refusal = (vm: string) => new VCenterError('NoPermission', `the account is not allowed to read ${vm}`)

function machine(moref: string, biosUUID: string | undefined): VMProperties {
  const text = (text: string): XMLElement => ({
    name: 'val',
    type: undefined,
    kind: undefined,
    text,
    children: [],
  })
  return readMachine(
    moref,
    new Map(biosUUID === undefined ? [] : [['config.uuid', text(biosUUID)]]),
    undefined,
  )
}

t.test('those from before are always read, those that were seen next, and of the others some', async (t) => {
  const rows = [
    [0, 0, 64, [64, 0]],
    [0, 0, 65, [64, 1]],
    [1, 0, 65, [64, 2]],
    [64, 0, 65, [64, 65]],
    [64, 3, 65, [67, 65]],
    [0, 64, 0, [64, 0]],
    [100, 64, 0, [128, 36]],
    [200, 1, 1, [200, 2]],
  ] as const
  for (const [before, seen, found, expected] of rows) {
    const chosen = chooseCandidates(
      { before: vmsCalled('before', before), seen: vmsCalled('seen', seen) },
      { vms: vmsCalled('found', found), fresh: true },
    )
    t.same([chosen.read.length, chosen.omitted], expected, `${before} before, ${seen} seen, ${found} found`)
  }
  const same = chooseCandidates({ before: ['a'], seen: ['a', 'b'] }, { vms: ['b', 'c', 'a'], fresh: true })
  t.same(same.read, ['a', 'b', 'c'], 'each once')
  const known = { before: vmsCalled('before', 128), expected: ['v'], seen: ['seen'] }
  const chosen = chooseCandidates(known, { vms: ['v', 'seen', 'found'], fresh: true })
  t.same(
    [chosen.read.includes('v'), chosen.read.length, chosen.omitted],
    [true, 129, 2],
    'and one that is expected',
  )
})

interface Scene {
  readonly before?: readonly string[]
  readonly found?: readonly string[]
  readonly fresh?: boolean
  /** UUIDs of those that are read. */
  readonly read?: Readonly<Record<string, string | undefined>>
  readonly denied?: readonly string[]
  readonly left?: readonly string[]
  readonly refusedBefore?: readonly string[]
}

/** Morefs, and `…` where there are more; or what stands in the place of an answer. */
function judge(scene: Scene): string {
  const {
    before = [],
    found = [],
    fresh = true,
    read = {},
    denied = [],
    left = [],
    refusedBefore = [],
  } = scene
  const keys = (vms: readonly string[]) => vms.map((vm) => `VirtualMachine:${vm}`)
  const answer = judgeCandidates(
    'u',
    chooseCandidates({ before, seen: [] }, { vms: found, fresh }),
    {
      machines: new Map(Object.entries(read).map(([vm, uuid]) => [vm, machine(vm, uuid)])),
      gone: new Set(),
      denied: new Map(denied.map((vm) => [`VirtualMachine:${vm}`, refusal(vm)])),
      left: new Set(keys(left)),
      parked: new Set(),
    },
    {
      lastKnown: (vm) => (before.includes(vm) ? machine(vm, 'u') : undefined),
      refusedBefore: (vm) => (refusedBefore.includes(vm) ? refusal(vm) : undefined),
    },
  )
  if (typeof answer === 'string') return answer
  if (answer instanceof VCenterError) return answer.reason
  const more = answer.incomplete === undefined ? '' : ` … ${answer.incomplete.reason}`
  return `${answer.vms.map(({ moref }) => moref).join()}${more}`
}

const V = { v: 'u' }
const ROWS: readonly [what: string, scene: Scene, expected: string][] = [
  ['found and read', { found: ['v'], read: V }, 'v'],
  ['none', {}, ''],
  ['a known one has no UUID any more', { before: ['v'], read: { v: undefined } }, 'v'],
  ['a known one is gone', { before: ['v'] }, ''],
  [
    'another is refused that never was read',
    { found: ['v', 't'], read: V, denied: ['t'] },
    'v … NoPermission',
  ],
  ['another is left out', { found: ['v', 't'], read: V }, 'v … NoPermission'],
  ['the only one is refused', { found: ['v'], denied: ['v'] }, 'NoPermission'],
  ['the only one is left out', { found: ['v'] }, 'NoPermission'],
  ['a known one is refused', { before: ['v', 't'], read: V, denied: ['t'] }, 'v,t'],
  ['a known one is left out', { before: ['v', 't'], found: ['v', 't'], read: V }, 'v,t'],
  ['all known ones are refused', { before: ['v', 't'], denied: ['v', 't'] }, 'NoPermission'],
  ['the search is old', { found: ['v', 't'], fresh: false, read: { v: 'u', t: 'x' } }, 'stale'],
  ['it is new', { found: ['v', 't'], read: { v: 'u', t: 'x' } }, 'v'],
  ['one was not read', { found: ['v', 't'], read: V, left: ['t'] }, 'unread'],
  [
    'nor this time, and it was refused before',
    { found: ['v', 't'], read: V, left: ['t'], refusedBefore: ['t'] },
    'v … NoPermission',
  ],
  ['only such', { found: ['t'], left: ['t'], refusedBefore: ['t'] }, 'unread'],
  [
    'more than are read',
    { before: ['v'], found: vmsCalled('t', 65), read: { ...V, ...copies(65) } },
    `v,${vmsCalled('t', 63).join()} … AmbiguousUUID`,
  ],
  [
    'more than are read, and those that are have another by now',
    { found: vmsCalled('t', 65), read: copies(65, 'x') },
    ' … AmbiguousUUID',
  ],
]

function copies(count: number, uuid = 'u'): Record<string, string> {
  return Object.fromEntries(vmsCalled('t', count).map((vm) => [vm, uuid]))
}

for (const [what, scene, expected] of ROWS)
  t.test(what, async (t) => {
    t.equal(judge(scene), expected)
  })

t.test('a VM is awaited until a read that began after it was expected has ended', async (t) => {
  const expected = new ExpectedVMs()
  t.same(expected.take(), [])
  t.ok(expected.awaits('v'))
  t.equal(expected.settle(), false, 'the read began before')
  t.ok(expected.areWanted())
  t.same(expected.take(), ['v'])
  t.ok(expected.awaits('v'), 'it is being read')
  t.notOk(expected.areWanted())
  t.equal(expected.settle(), true)
  t.notOk(expected.awaits('v'), 'whether or not it was there')
  t.same(expected.take(), ['v'], 'it is read with the others from then on')
  t.equal(expected.settle(), false, 'which nobody waits for')
  expected.forget()
  t.same(expected.take(), [])
})

t.test('of VMs that have lost a UUID the last thousand are looked at again', async (t) => {
  const sightings = new Sightings()
  for (let i = 0; i < 1_500; i++) sightings.lose(`u-${i}`, 'vm-1')
  sightings.lookAgain()
  const uuids = [...sightings.take().keys()]
  t.equal(uuids.length, 1_000)
  t.equal(uuids[0], 'u-500')
})
