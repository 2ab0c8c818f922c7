// VMs are gone, or vCenter says so, and its answers are such that nobody can know. Each scene has a cluster of its own.
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import type { VcsimFault, VcsimVM } from '../servers/control.ts'
import type { CrowdMember } from '../world/crowd.ts'
import {
  DELETED,
  deletionPending,
  eventsOfReason,
  MISSING,
  probed,
  QUICK,
  watched,
} from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { condition, ready } from '../world/objects.ts'
import { openPlay, type Play } from '../world/play.ts'

t.jobs = 3
const ABSENT_FOR = 2_000
// The brake is out of the way, so that the doubt is what holds.
const lifecycle = { ...QUICK, absentFor: `${ABSENT_FOR}ms`, maxAbsentShare: '100%' }
const isFound = ({ reports }: Play, name: string) =>
  condition(reports.last(name), 'VMFound')?.status === 'True'

interface Doubt {
  readonly what: string
  readonly fault: (vm: VcsimVM) => VcsimFault
  /** Of the condition. */
  readonly reason: string
}

/** Each breaks the row of proofs. Those of one round are tried at once, each on a VM of its own. */
const ROUNDS: readonly (readonly Doubt[])[] = [
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

t.test('an answer in a row of proofs is in doubt', { buffered: true }, async (t) => {
  const names = ROUNDS.map((round, i) => round.map((_, j) => `worker-${i}-${j}`))
  const play = await openPlay(t, ['canary', ...names.flat()], lifecycle)
  const { nodes, vcsim } = play
  await loseHeartbeats(play.cluster, ...names.flat())

  for (const [i, round] of ROUNDS.entries()) {
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

// kubernetes/cloud-provider-vsphere#479
t.test('the password is refused', { buffered: true }, async (t) => {
  const play = await openPlay(t, ['worker-0', 'worker-1', 'gone'], lifecycle, { vms: 4 })
  const { events, members, nodes, reports, vcsim } = play
  const { gone } = play.cast
  const names = members.map(({ name }) => name)

  /** Looks at all Nodes for longer than a deletion takes, again and again. */
  async function outlast(): Promise<void> {
    const looks = async () => (await play.count('rollcall_reconciles_total{outcome="done"}')) ?? 0
    const before = await looks()
    const start = performance.now()
    await until('all Nodes were looked at for long enough', async () => {
      await loseHeartbeats(play.cluster, ...names)
      return performance.now() - start > 2 * ABSENT_FOR && (await looks()) - before >= 3 * names.length
    })
  }

  async function areKept(t: Test): Promise<void> {
    for (const name of names) {
      const { message } = await deletionPending(play, name, { status: 'Unknown', reason: 'InvalidLogin' })
      t.match(message, /^vCenter cannot be asked whether its VM is gone, so the Node is kept: .*password/)
    }
    await outlast()
    t.equal((await vcsim.calls()).operations.Login, 1, 'one attempt')
    t.equal(play.kept(), 3, 'all are kept')
    await events.until('it is told', () =>
      names.every((name) => eventsOfReason(play, name, 'InvalidLogin').length > 0),
    )
    for (const name of names) {
      t.match(eventsOfReason(play, name, 'InvalidLogin'), [{ type: 'Warning', count: 1 }])
      t.equal(eventsOfReason(play, name, 'InvalidLogin').length, 1)
    }
    t.match(await (await fetch(`${play.leader.url}/readyz`)).text(), 'vCenter main: InvalidLogin')
  }

  await t.test('it expires while the controller runs, and the session ends', async (t) => {
    await loseHeartbeats(play.cluster, ...names)
    await vcsim.resetCalls()
    const refused = await vcsim.fault({ operation: 'Login', kind: 'fault', fault: 'InvalidLogin' })
    await vcsim.endSessions()
    await vcsim.hide(gone.vm.ref)
    await areKept(t)
    await play.leader.stop()
    await vcsim.clearFaults(refused)
  })

  await t.test('it is wrong when the controller starts', async (t) => {
    await vcsim.resetCalls()
    const wrong = { ...vcsim, password: 'another' }
    await play.nextLeader({ identity: 'second', vcsim: wrong, until: 'answering' })
    await areKept(t)
  })

  await t.test('it is right', async (t) => {
    await play.nextLeader({ identity: 'third' })
    for (const name of names.filter((each) => each !== gone.name)) {
      await deletionPending(play, name, { status: 'False', reason: 'VMExists' })
      t.equal(condition(reports.last(name), 'VMFound')?.status, 'True')
    }
    await play.ends(gone)
    t.ok(nodes.last('worker-0') && nodes.last('worker-1'))
    t.equal(play.kept(), 2)
  })
})

// To an account that may not read, vCenter's search answers "nothing found", not "denied":
// kubernetes-sigs/vsphere-csi-driver#2475
t.test('privileges are lost', { buffered: true }, async (t) => {
  const FOLDER = 'workers'
  const play = await openPlay(t, 10, lifecycle, {
    vms: 11,
    async controller({ vcsim, vms }) {
      await vcsim.govc('folder.create', `/DC0/vm/${FOLDER}`)
      await vcsim.move({ vm: vms[0]?.ref ?? '', folder: `/DC0/vm/${FOLDER}` })
      return { identity: 'first' }
    },
  })
  const { members, nodes, reports, vcsim } = play
  const [inFolder] = members
  if (inFolder === undefined) throw new Error('there are ten')
  const names = members.map(({ name }) => name)
  const versions = () => names.map((name) => nodes.of(name).length)
  await play.leader.stop()
  await loseHeartbeats(play.cluster, ...names)

  for (const as of ['fault', 'missingSet'] as const)
    await t.test(`all (${as}), no Node is ready, and the controller starts anew`, async (t) => {
      await nodes.until('all are silent', () => names.every((name) => ready(nodes.last(name)) === 'Unknown'))
      await vcsim.revoke({ as })
      const before = versions()
      await play.nextLeader({ identity: as })
      for (const { name, vm } of members) {
        const wanted = { status: 'Unknown', reason: 'PrivilegeMissing' } as const
        const { message } = await deletionPending(play, name, wanted)
        const folder = vm === inFolder.vm ? FOLDER : 'vm'
        t.match(message, `the account lacks System.View and System.Read on Folder "${folder}"`)
      }
      await probed(play, 2 * names.length)
      t.equal(play.kept(), 10, 'all are kept')
      t.same(versions(), before, 'and none was written')
      t.equal(await play.count(DELETED), 0)

      await vcsim.restore()
      await Promise.all(
        names.map((name) => deletionPending(play, name, { status: 'False', reason: 'VMExists' })),
      )
      await reports.until('all are found', () => names.every((name) => isFound(play, name)))
      t.equal(play.kept(), 10)
      t.same(versions(), before)
    })

  await t.test('those on one folder are lost, and the VM in it is gone', async (t) => {
    const { name, vm } = inFolder
    await play.nextLeader({ identity: 'folder' })
    await watched(play)
    await vcsim.revoke({ object: FOLDER })
    await vcsim.hide(vm.ref)
    const { message } = await deletionPending(play, name, { status: 'Unknown', reason: 'PrivilegeMissing' })
    t.match(
      message,
      /lacks System\.View and System\.Read on Folder "workers" \(group-\d+\): give it the role/,
    )
    await probed(play, 2)
    t.equal(play.kept(), 10, 'what is not proven is kept')

    await vcsim.restore()
    await play.ends(inFolder)
    t.equal(play.kept(), 9)
  })
})

// kubernetes/cloud-provider-vsphere#642, #650
t.test('a storage outage, in which the controller restarts', { buffered: true }, async (t) => {
  const play = await openPlay(t, ['worker', 'other'], QUICK, { vms: 3 })
  const { nodes, reports, vcsim } = play
  const { name, vm } = play.cast.worker
  const found = () => condition(reports.last(name), 'VMFound')
  // As users see a VM whose datastore is away: without its UUID, so that no search finds it.
  const away = { connectionState: 'inaccessible', powerState: 'poweredOff', uuid: '' } as const
  await vcsim.setState({ vm: vm.ref, ...away })
  await loseHeartbeats(play.cluster, name)

  await t.test('the controller that knew it says so, and concludes nothing', async (t) => {
    await reports.until('it is told', () => found()?.reason === 'VMNotConnected')
    t.match(found(), { status: 'Unknown', message: /inaccessible.*the Node is kept/ })
    t.equal(await play.count(MISSING), 0)
  })

  await t.test('the next, whose search does not find it, asks for it by reference', async (t) => {
    await play.nextLeader({ identity: 'after' })
    const { message } = await deletionPending(play, name, { status: 'False', reason: 'VMExists' })
    t.match(message, /is kept: VM ".+" \(vm-\d+, inaccessible\) is found by reference/)
    t.match(found(), { status: 'Unknown', reason: 'VMNotSearchable', message: /inaccessible/ })
    await probed(play, 2)
    t.ok(nodes.last(name), 'kept, though asked often enough')
    t.equal(await play.count(MISSING), 0, 'it counts for no brake')
    t.equal(await play.count(DELETED), 0)
  })

  await t.test('the storage is back', async (t) => {
    const back = { connectionState: 'connected', powerState: 'poweredOn', uuid: vm.uuid } as const
    await vcsim.setState({ vm: vm.ref, ...back })
    await reports.until('it is found', () => found()?.status === 'True')
    t.equal(reports.last(name)?.status?.identityLevel, 'proven')
    const versions = nodes.of(name).map(({ object }) => object)
    t.equal(new Set(versions.map(({ spec }) => spec.taints?.length ?? 0)).size, 2, 'no taint but the first')
    t.equal(condition(reports.last('other'), 'DeletionPending'), undefined)
  })
})
