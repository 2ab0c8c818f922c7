// VMs are gone, and vCenter's answers are such that nobody can know: each breaks the row of proofs.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault, VcsimVM } from '../servers/control.ts'
import { deleted, deletionPending, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { openStage } from '../world/stage.ts'

interface Doubt {
  readonly what: string
  readonly fault: (vm: VcsimVM) => VcsimFault
  /** Of the condition. */
  readonly reason: string
}

/** Those of one round are tried at once, each on a VM of its own. */
const rounds: readonly (readonly Doubt[])[] = [
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

const ABSENT_FOR = 2_000
const stage = await openStage(t, { vms: rounds.flat().length + 1 })
const { cluster, nodes, vcsim } = stage
const lifecycle = { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' }
await stage.controller({ lifecycle })
const names = rounds.map((round, i) => round.map((_, j) => `worker-${i}-${j}`))
const members = await verified(stage, 'canary', ...names.flat())
await watched(stage)
await loseHeartbeats(cluster, ...names.flat())

for (const [i, round] of rounds.entries()) {
  const cases = round.map((doubt, j) => {
    const member = members.find(({ name }) => name === names[i]?.[j])
    if (member === undefined) throw new Error('there is one for each')
    return { ...doubt, ...member }
  })
  t.test(round.map(({ what }) => what).join('; '), async (t) => {
    await vcsim.hide(...cases.map(({ vm }) => vm.ref))
    await Promise.all(
      cases.map(({ name }) => deletionPending(stage, name, { status: 'True', reason: 'NotConfirmed' })),
    )
    for (const { vm, fault } of cases) await vcsim.fault(fault(vm))
    const start = performance.now()
    await until('all have met the fault again and again', async () => {
      const faults = await vcsim.faults()
      return faults.every(({ hits }) => hits >= 2) && performance.now() - start > 1.5 * ABSENT_FOR
    })
    for (const { name, reason, what } of cases) {
      const { message } = await deletionPending(stage, name, { status: 'Unknown', reason })
      t.match(message, /^it is unknown whether VM .+ is gone, so the Node is kept: /, what)
      t.ok(nodes.last(name), 'kept')
    }
    const cleared = performance.now()
    await vcsim.clearFaults()
    for (const { name, what } of cases) {
      await deleted(stage, name)
      const took = (nodes.of(name).at(-1)?.at ?? 0) - cleared
      t.ok(took >= ABSENT_FOR, `${what}: deleted ${took.toFixed()} ms after it was good again`)
    }
  })
}
