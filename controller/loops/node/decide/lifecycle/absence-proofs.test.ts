import t from 'tap'
import { boundVM } from '../../../../../test/fixtures/facts.ts'
import { probe, seenVM } from '../../../../../test/fixtures/probes.ts'
import { isOffForGood, registeredAs, seenIn, unmetProofs } from './absence-proofs.ts'

const OWN = boundVM().vCenterInstanceUUID
const other = (changes: Parameters<typeof probe>[0] = {}) =>
  probe({ vCenter: 'vc2', vCenterInstanceUUID: 'two', moref: undefined, ...changes })
const failure = {
  vCenter: 'vc2',
  reason: 'PrivilegeMissing' as const,
  message: 'the account lacks System.Read',
}
const none = { state: 'none' } as const

const missing = (probes: readonly ReturnType<typeof probe>[], ...inhabited: string[]) =>
  unmetProofs(boundVM(), {
    probes,
    inhabited: new Map(inhabited.map((uuid) => [uuid, { kind: 'listed' }])),
  }).map(({ message }) => message)

t.test('a vCenter that shows no VM is believed to be empty where no other Node says otherwise', async (t) => {
  t.same(missing([probe({ canary: none })]), [], 'its only VM is gone')
  t.match(missing([probe({ canary: none })], OWN), [/^vCenter vc1 shows no VM at all, .* though other Nodes/])
  t.same(missing([probe(), other({ canary: none })], OWN), [], 'the other one is empty')
  t.match(missing([probe(), other({ canary: none })], OWN, 'two'), [/^vCenter vc2 shows no VM at all/])
})

t.test('an empty vCenter that a running Node keeps in doubt names it, and what ends that', async (t) => {
  const told = (kind: 'unlisted' | 'unshown', ...names: string[]) =>
    unmetProofs(boundVM(), {
      probes: [probe(), other({ canary: none })],
      inhabited: new Map([['two', { kind, names }]]),
    })[0]?.message
  const remove =
    'delete that Node or allow its deletion, so that vCenter vc2 counts as empty: kubectl delete node n1, or kubectl annotate node n1 rollcall.dev/deletion=proceed'
  const empty = 'vCenter vc2 shows no VM at all, so not finding one proves nothing, though'
  t.equal(
    told('unlisted', 'n1'),
    `${empty} Node n1 is Ready and had its VM there: register that VM again, or ${remove}`,
  )
  t.match(told('unlisted', 'n1', 'n2', 'n3'), /Node n1 \(and 2 more\) is Ready and had/)
  t.equal(
    told('unshown', 'n1'),
    `${empty} Node n1 is Ready and no vCenter shows its VM, which may be there: register that VM again, install the agent on the Node if it has none, or ${remove}`,
  )
})

t.test('a vCenter must be readable from its root, whether or not it had the VM', async (t) => {
  t.match(missing([probe(), other({ privileges: { state: 'unproven', failure } })]), [
    /^vCenter vc2: the account/,
  ])
  t.match(missing([probe({ privileges: { state: 'unproven', failure } }), other()]), [
    /^vCenter vc2: the account/,
  ])
})

const unproven = { state: 'unproven', failure } as const
/** The same vCenter under another name, with another account. */
const tenant = (changes: Parameters<typeof probe>[0] = {}) => probe({ vCenter: 'tenant', ...changes })
const found = (changes: Parameters<typeof seenVM>[0] = {}) =>
  ({ state: 'found', vm: seenVM(changes) }) as const
const unknown = { state: 'unknown', failure } as const

t.test(
  'of two servers that say they are one vCenter, each must prove an absence, and show a VM as off',
  async (t) => {
    const clone = (changes: Parameters<typeof probe>[0] = {}) =>
      probe({ vCenter: 'clone', server: 'clone.test 443', ...changes })
    const blind = { privileges: { state: 'unproven', failure } } as const
    t.same(missing([probe(), clone()]), [])
    t.match(missing([probe(blind), clone()]), [/lacks System\.Read/])
    t.match(missing([probe({ canary: none }), clone()], OWN), [/^vCenter vc1 shows no VM at all/])
    const off = { state: 'found', vm: seenVM({ powerState: 'poweredOff' }) } as const
    const isOff = (...probes: ReturnType<typeof probe>[]) => isOffForGood(boundVM(), probes)
    t.equal(isOff(probe({ moref: off }), clone({ moref: off })), true)
    t.equal(isOff(probe({ moref: { state: 'unknown', failure } }), clone({ moref: off })), false)
    t.equal(isOff(probe(), clone({ moref: off })), false)
    const moved = { state: 'found', vm: seenVM({ moref: 'vm-99' }) } as const
    t.equal(registeredAs(boundVM(), [probe(), clone({ instanceUUID: moved })]), undefined)
    t.equal(
      registeredAs(boundVM(), [probe({ instanceUUID: moved }), clone({ instanceUUID: moved })]),
      'vm-99',
    )
  },
)

t.test('of two accounts of one vCenter, one must be such that its finding nothing counts', async (t) => {
  const blind = { privileges: unproven }
  t.same(missing([probe(), tenant(blind)]), [])
  t.same(missing([tenant(blind), probe()]), [], 'in either order')
  t.match(missing([probe(blind), tenant(blind)]), [/lacks System\.Read/])
  t.match(missing([probe({ canary: unproven }), tenant(blind)]), [/lacks System\.Read/], 'not half of each')
  t.match(missing([probe({ canary: none }), tenant(blind)], OWN), [/^vCenter vc1 shows no VM at all/])
  t.same(missing([probe({ canary: none }), tenant()], OWN), [], 'its datacenter is empty')
  t.match(missing([probe(), other(blind)]), [/lacks System\.Read/], 'another vCenter needs one of its own')
  t.match(
    missing([probe(), tenant({ ...blind, vCenterInstanceUUID: undefined })]),
    [/lacks System\.Read/],
    'one that never answered may be any',
  )
})

t.test('each account of a vCenter must find nothing', async (t) => {
  for (const [one, two] of [
    [probe, tenant],
    [tenant, probe],
  ] as const) {
    t.match(missing([one(), two({ moref: found() })]), [/is found by reference$/])
    t.match(missing([one({ moref: unknown }), two({ moref: found() })]), [/is found by reference$/])
    t.match(missing([one(), two({ moref: unknown })]), [/lacks System\.Read/])
    t.match(missing([one(), two({ biosUUID: found() })]), [/is found by its BIOS UUID$/])
    t.match(missing([one(), two({ instanceUUID: unknown })]), [/lacks System\.Read/])
    t.match(seenIn(boundVM(), [one(), two({ moref: found() })]), { moref: boundVM().moref })
  }
})

t.test('what any account of a vCenter says of a VM counts against its being off, or another', async (t) => {
  const off = found({ powerState: 'poweredOff' })
  const protectedByHA = found({ powerState: 'poweredOff', mayRestart: ['vSphere HA protects it'] })
  const isOff = (...probes: readonly ReturnType<typeof probe>[]) => isOffForGood(boundVM(), probes)
  t.equal(isOff(probe({ moref: off }), tenant({ moref: unknown })), true)
  t.equal(isOff(probe({ moref: unknown }), tenant({ moref: off })), true)
  t.equal(isOff(probe({ moref: off }), tenant({ moref: protectedByHA })), false)
  t.equal(isOff(probe({ moref: off }), tenant({ moref: found() })), false)
  t.equal(isOff(probe(), tenant()), false)
  const moved = found({ moref: 'vm-99' })
  t.equal(registeredAs(boundVM(), [probe(), tenant({ instanceUUID: moved })]), 'vm-99')
  t.equal(registeredAs(boundVM(), [probe({ moref: found() }), tenant({ instanceUUID: moved })]), undefined)
})
