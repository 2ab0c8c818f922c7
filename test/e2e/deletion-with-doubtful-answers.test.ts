// VMs are gone, or vCenter says so, and its answers are such that nobody can know. Each scene has a cluster of its own.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault, VcsimVM } from '../servers/control.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { DELETED, deletionPending, QUICK } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { openPlay, type Play } from '../world/play.ts'

t.jobs = 2
/** Long enough for a slow machine to meet a fault before the proof is complete. */
const ABSENT_FOR = 6_000
// The brake is out of the way, so that the doubt is what holds.
const lifecycle = { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' }
const isFound = ({ reports }: Play, name: string) =>
  condition(reports.last(name), 'VMFound')?.status === 'True'

t.test('an answer in a row of proofs is in doubt', { buffered: true }, async (t) => {
  const all = rounds()
  const names = all.map((round, i) => round.map((_, j) => `worker-${i}-${j}`))
  const play = await openPlay(t, ['canary', ...names.flat()], lifecycle)
  const { nodes, vcsim } = play
  await loseHeartbeats(play.cluster, ...names.flat())

  for (const [i, round] of all.entries()) {
    const cases = round.flatMap((doubt, j) => {
      const member = play.cast[names[i]?.[j] ?? '']
      return member === undefined ? [] : [{ ...doubt, ...member }]
    })
    await t.test(round.map(({ what }) => what).join('; '), async (t) => {
      t.equal(cases.length, round.length)
      await vcsim.hide(...cases.map(({ vm }) => vm.ref))
      await Promise.all(
        cases.map(({ name }) => deletionPending(play, name, { status: 'True', reason: 'NotConfirmed' })),
      )
      for (const { vm, fault } of cases) await vcsim.fault(fault(vm))
      const start = performance.now()
      await until('all have met the fault again and again', async () => {
        const faults = await vcsim.faults()
        return faults.every(({ hits }) => hits >= 2) && performance.now() - start > 1.5 * ABSENT_FOR
      })
      for (const { name, reason, what } of cases) {
        const { message } = await deletionPending(play, name, { status: 'Unknown', reason })
        t.match(message, /^it is unknown whether VM .+ is gone, so the Node is kept: /, what)
        t.ok(nodes.last(name), 'kept')
      }
      const cleared = performance.now()
      await vcsim.clearFaults()
      await play.ends(...cases)
      for (const { name, what } of cases) {
        const took = (nodes.of(name).at(-1)?.at ?? 0) - cleared
        t.ok(took >= ABSENT_FOR, `${what}: deleted ${took.toFixed()} ms after it was good again`)
      }
    })
  }
})

const FAILED_READS: readonly {
  readonly what: string
  readonly fault: (living: CrowdMember) => Omit<VcsimFault, 'operation'>
  readonly reason: string
  /** vCenter answers all else, so that the Node whose VM is gone is deleted meanwhile. */
  readonly rest?: true
}[] = [
  { what: '503', fault: () => ({ kind: 'status', status: 503 }), reason: 'Unavailable' },
  { what: 'a reset', fault: () => ({ kind: 'reset' }), reason: 'Unreachable' },
  {
    what: 'NoPermission',
    fault: ({ vm }) => ({ kind: 'fault', fault: 'NoPermission', object: vm.ref }),
    reason: 'NoPermission',
    rest: true,
  },
]

t.test(
  'a search finds the VM, and a read after it fails, as the controller starts',
  { buffered: true },
  async (t) => {
    const play = await openPlay(t, ['living', 'gone', 'canary'], lifecycle, { vms: 4 })
    const { nodes, reports, vcsim } = play
    const { living, gone } = play.cast
    await play.leader.stop()
    await vcsim.hide(gone.vm.ref)
    await loseHeartbeats(play.cluster, living.name, gone.name)

    for (const { what, fault, reason, rest } of FAILED_READS)
      await t.test(`reads are answered with ${what}`, async (t) => {
        const id = await vcsim.fault({ operation: 'RetrievePropertiesEx', ...fault(living) })
        await play.nextLeader({ identity: what, until: 'answering' })
        const { message } = await deletionPending(play, living.name, { status: 'Unknown', reason })
        t.match(message, /^vCenter cannot be asked whether its VM is gone, so the Node is kept: /)
        if (rest) await play.ends(gone)
        else {
          const start = performance.now()
          await until('it was tried again and again', async () => {
            const hits = (await vcsim.faults()).find((each) => each.id === id)?.hits ?? 0
            return hits >= 3 && performance.now() - start > 1.5 * ABSENT_FOR
          })
          t.ok(nodes.last(gone.name), 'nor is one deleted whose VM is gone')
        }
        t.ok(nodes.last(living.name), 'kept')
        await until('deletions are counted', async () => (await play.count(DELETED)) === (rest ? 1 : 0))
        await play.leader.stop()
        await vcsim.clearFaults()
      })

    await t.test('reads are answered', async (t) => {
      await play.nextLeader({ identity: 'last' })
      await deletionPending(play, living.name, { status: 'False', reason: 'VMExists' })
      // The probe may have its answer before the VM is found again.
      await reports.until('the VM is found', () => isFound(play, living.name))
      t.ok(nodes.last(living.name))
    })
  },
)

interface Doubt {
  readonly what: string
  readonly fault: (vm: VcsimVM) => VcsimFault
  /** Of the condition. */
  readonly reason: string
}

/** Each breaks the row of proofs. Those of one round are tried at once, each on a VM of its own. */
function rounds(): readonly (readonly Doubt[])[] {
  return [
    [
      {
        what: 'the VM may not be read',
        fault: ({ ref: object }) => ({
          operation: 'RetrievePropertiesEx',
          object,
          kind: 'fault',
          fault: 'NoPermission',
        }),
        reason: 'NoPermission',
      },
      {
        what: 'the reading of the VM is reset',
        fault: ({ ref: object }) => ({ operation: 'RetrievePropertiesEx', object, kind: 'reset' }),
        reason: 'Unreachable',
      },
      {
        what: 'of the VM comes half a document',
        fault: ({ ref: object }) => ({ operation: 'RetrievePropertiesEx', object, kind: 'truncate' }),
        reason: 'MalformedAnswer',
      },
      {
        what: 'the search by instance UUID is answered with 503',
        fault: ({ instanceUuid: object }) => ({
          operation: 'FindAllByUuid',
          object,
          kind: 'status',
          status: 503,
        }),
        reason: 'Unavailable',
      },
    ],
    [
      {
        what: 'the question for privileges is reset',
        fault: () => ({ operation: 'HasPrivilegeOnEntities', kind: 'reset' }),
        reason: 'Unreachable',
      },
    ],
    [
      {
        what: 'no search finds anything, not even what is there',
        fault: () => ({ operation: 'FindAllByUuid', kind: 'empty' }),
        reason: 'CanaryNotFound',
      },
    ],
  ]
}
