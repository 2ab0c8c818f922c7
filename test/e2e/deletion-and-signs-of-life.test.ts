// VMs that vCenter does not have, of machines that live: unregistered, or in a vCenter that is not configured, or lost with
// last month's backup. Each scene has a cluster of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSender } from '../attacks/sender.ts'
import { until } from '../fixtures/until.ts'
import { type CrowdMember, prepareReports } from '../world/crowd.ts'
import { BRAKE, DELETED, deletionPending, eventsOfReason, MISSING, probed, QUICK } from '../world/deletion.ts'
import { again, heartbeat, kubeletIdentity, loseHeartbeats, renewLease } from '../world/kubelet.ts'
import { condition, type NodeObject } from '../world/objects.ts'
import { openPlay, type Play } from '../world/play.ts'

t.jobs = 3
const namesOf = (members: readonly CrowdMember[]) => members.map(({ name }) => name)
const now = () => new Date().toISOString().replace(/\.\d+/, '')

/** Lets kubelets live: each says so, and renews its Lease. */
function live({ cluster }: Play, names: readonly string[], pause: number): AsyncDisposable {
  return again(pause, () =>
    Promise.all(
      names.map(async (name) => {
        await heartbeat(cluster, name)
        await renewLease(cluster, name)
      }),
    ),
  )
}

t.test('those that live are kept, as long as they live', { buffered: true }, async (t) => {
  // So long that no sign of life comes too late on a machine that has other things to do.
  const absentFor = 12_000
  const lifecycle = { ...QUICK, absentFor: `${absentFor}ms`, maxAbsentShare: '100%' }
  const cast = ['ready', 'agent', 'kubelet', 'lease', 'silent', 'later', 'canary'] as const
  const play = await openPlay(t, cast, lifecycle)
  const { cluster, nodes, vcsim } = play
  const { ready, agent, kubelet, lease, silent, later } = play.cast
  await using reports = await prepareReports(cluster, [agent])
  await renewLease(cluster, 'lease')
  await loseHeartbeats(cluster, ...cast.filter((name) => name !== 'ready' && name !== 'canary'))
  const signs = {
    agent: () => reports.write(now()),
    kubelet: () => heartbeat(cluster, 'kubelet', 'False'),
    lease: () => renewLease(cluster, 'lease'),
  }
  const last = new Map<string, number>()

  await vcsim.unregister(ready.vm.ref)
  await vcsim.hide(...[agent, kubelet, lease, silent].map(({ vm }) => vm.ref))
  await deletionPending(play, 'ready', {
    status: 'True',
    reason: 'NodeReady',
    message: /the Node is Ready, so its machine runs somewhere; check whether its VM was unregistered/,
  })
  const lives = Object.entries(signs).map(([name, sign]) =>
    again(500, async () => {
      last.set(name, performance.now())
      await sign()
    }),
  )
  await play.ends(silent)
  await vcsim.hide(later.vm.ref)
  await play.ends(later)
  for (const name of ['ready', ...Object.keys(signs)]) t.ok(nodes.last(name), name)
  for (const life of lives) await life[Symbol.asyncDispose]()

  for (const member of [agent, kubelet, lease]) {
    await play.ends(member)
    const { name } = member
    const took = (nodes.of(name).at(-1)?.at ?? 0) - (last.get(name) ?? 0)
    t.ok(took >= absentFor, `after the last sign of life (${name}) it takes all confirmations: ${took} ms`)
    t.ok(eventsOfReason(play, name, 'NodeDeleted').length <= 1)
  }
  await deletionPending(play, 'ready', { status: 'True', reason: 'NodeReady' })
  t.ok(nodes.last('ready'))
})

t.test(
  'a small cluster: one VM is unregistered, another destroyed a moment later',
  { buffered: true },
  async (t) => {
    const absentFor = 30_000
    // The brake is as it is by default.
    const play = await openPlay(t, ['running', 'destroyed', 'third', 'fourth'], {
      ...QUICK,
      absentFor: `${absentFor}ms`,
    })
    const { running, destroyed } = play.cast
    await using _ = live(play, ['running'], 2_000)
    await play.vcsim.unregister(running.vm.ref)
    // A third of the time within which VMs vanish at once: twenty seconds, where `absentFor` is five minutes.
    await sleep(absentFor / 15)
    await play.destroy(destroyed)
    await play.ends(destroyed)
    t.equal(await play.count(DELETED), 1, 'it is deleted without a person')
    t.same(play.latched(), [], 'the brake has engaged for nobody')
    t.equal(await play.count(BRAKE), 0)
    await deletionPending(play, 'running', { status: 'True', reason: 'NodeReady' })
    for (const { name, uid } of play.members)
      if (name !== 'destroyed') t.equal(play.nodes.last(name)?.metadata.uid, uid, name)
  },
)

/** What a Node is to others: its kubelet writes the rest now and then. */
function asOthersSeeIt(node: NodeObject | undefined) {
  return {
    uid: node?.metadata.uid,
    labels: node?.metadata.labels,
    spec: node?.spec,
    at: node?.status.addresses,
  }
}

// It does not know most VMs, whose machines run on. Two of their Nodes are not Ready just then, for reasons of their own.
t.test("vCenter is restored from last month's backup", { buffered: true }, async (t) => {
  const absentFor = 4_000
  const play = await openPlay(t, 10, { ...QUICK, absentFor: `${absentFor}ms` })
  const { cluster, events, members, nodes, reports, vcsim } = play
  const [lost, silent, living] = [
    members.slice(0, 8),
    namesOf(members.slice(0, 2)),
    namesOf(members.slice(2)),
  ]
  const pending = (name: string) => condition(reports.last(name), 'DeletionPending')
  // As kubelets do, each more often than a proof takes.
  const kubelets = live(play, living, absentFor / 8)
  t.teardown(() => kubelets[Symbol.asyncDispose]())
  const before = new Map(members.map(({ name }) => [name, asOthersSeeIt(nodes.last(name))]))

  await t.test('nothing is deleted, and it is said why and what ends it', async (t) => {
    await loseHeartbeats(cluster, ...silent)
    await vcsim.hide(...lost.map(({ vm }) => vm.ref))
    // The command is the last that is said: nothing else is missing of the proof.
    const held = (name: string) => ({
      status: 'True' as const,
      reason: 'BrakeEngaged' as const,
      message: new RegExp(
        `kept for now: the deletion brake is engaged: .*: kubectl annotate node ${name} rollcall.dev/deletion=proceed$`,
      ),
    })
    for (const name of silent) {
      const { message } = await deletionPending(play, name, held(name))
      t.match(message, 'vCenter main does not show the VMs of more machines that run than')
      t.match(message, 'it is released 8s after those VMs are registered again')
      await events.until('it is told aloud', () => eventsOfReason(play, name, 'BrakeEngaged').length > 0)
    }
    await until('all are missed', async () => (await play.count(MISSING)) === lost.length)

    // Longer than a brake that only past deletions, or too few, keep engaged would last.
    await sleep(3 * absentFor)
    await probed(play, 2 * lost.length)
    for (const name of silent) await deletionPending(play, name, held(name))
    t.equal(await play.count(DELETED), 0)
    for (const { name, uid } of members) t.equal(nodes.last(name)?.metadata.uid, uid, `${name} is there`)
  })

  await t.test('when the VMs are registered again, all is as before without a person', async (t) => {
    for (const { vm } of lost) await vcsim.register(vm.ref)
    await reports.until('no deletion is pending, and no brake on record', () =>
      namesOf(lost).every(
        (name) =>
          pending(name)?.status === 'False' && reports.last(name)?.status?.brakeEngagedAt === undefined,
      ),
    )
    await until('the brake is released', async () => (await play.count(BRAKE)) === 0)
    await until('none is missed', async () => (await play.count(MISSING)) === 0)
    const morefs = new Map((await vcsim.vms()).map(({ uuid, ref }) => [uuid, ref]))
    await reports.until('each is bound to its VM', () =>
      members.every(({ name, vm }) => reports.last(name)?.status?.vm?.moref === morefs.get(vm.uuid)),
    )
    for (const name of silent) await heartbeat(cluster, name)
    for (const { name } of members) t.same(asOthersSeeIt(nodes.last(name)), before.get(name), name)
    t.equal(await play.count(DELETED), 0)
  })

  await t.test('and one VM that is destroyed then loses its Node, as ever', async (t) => {
    const [one] = members.slice(-1)
    if (one === undefined) throw new Error('there are ten')
    await kubelets[Symbol.asyncDispose]()
    await play.destroy(one)
    await play.ends(one)
    t.equal(await play.count(DELETED), 1)
  })
})

// Their VMs are destroyed, and somebody goes on renewing their Leases with the certificates of their kubelets.
t.test('zombies', { buffered: true }, async (t) => {
  const absentFor = 3_000
  const lifecycle = { ...QUICK, absentFor: `${absentFor}ms`, maxAbsentMinimum: 1, maxAbsentShare: '0%' }
  const names = ['zombie-1', 'zombie-2', 'zombie-3'] as const
  const play = await openPlay(t, [...names, 'gone', 'late', 'canary'], lifecycle, { vms: 8 })
  const { cluster, nodes, vcsim } = play
  const zombies = names.map((name) => play.cast[name])
  const { gone, late } = play.cast
  await using agents = await prepareReports(cluster, zombies)

  /** Whether they call their Nodes Ready as well. */
  let callsReady = true

  /** Renews the Lease, and says that the Node is Ready, as the kubelet of that name would. */
  async function kubelet(name: string) {
    const certificate = await cluster.clientCertificate(kubeletIdentity(name))
    const { send, close } = await openSender(cluster, { certificate })
    t.teardown(close)
    return async () => {
      const time = new Date().toISOString()
      const lease = await send({
        method: 'PATCH',
        path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}?fieldManager=kubelet&force=true`,
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name, namespace: 'kube-node-lease' },
          spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: time.replace('Z', '000Z') },
        },
        contentType: 'application/apply-patch+yaml',
      })
      if (lease.status > 201) throw new Error(lease.message)
      if (!callsReady) return
      const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: time }
      const status = await send({
        method: 'PATCH',
        path: `/api/v1/nodes/${name}/status`,
        body: { status: { conditions: [ready] } },
        contentType: 'application/strategic-merge-patch+json',
      })
      if (status.status !== 200) throw new Error(status.message)
    }
  }
  const beats = await Promise.all(names.map(kubelet))
  let beaten = 0
  await using _ = again(500, async () => {
    await Promise.all(beats.map((beat) => beat()))
    beaten++
  })

  await t.test(
    'while their agents report, vCenter is wrong about them, and is not believed about others',
    async (t) => {
      let rounds = 0
      await using _ = again(500, async () => {
        await agents.write(now())
        rounds++
      })
      await vcsim.hide(...zombies.map(({ vm }) => vm.ref))
      for (const name of names) await deletionPending(play, name, { status: 'True', reason: 'NodeReady' })
      const before = rounds
      await until('they have reported since', () => rounds > before + 4)
      await play.vanish(gone)
      await deletionPending(play, gone.name, { reason: 'BrakeEngaged', message: /more machines that run/ })
      const [held, since] = [rounds, performance.now()]
      // The agents count as silent after six times `absentFor`.
      await until(
        'they go on reporting for longer than they may be silent',
        () => rounds > held + 10 && performance.now() - since > 7 * absentFor,
      )
      t.ok(nodes.last(gone.name), 'it is held')
    },
  )

  await t.test(
    'once their kubelets alone have spoken for long, they are kept, and hold nobody',
    async (t) => {
      await play.ends(gone)
      for (const name of names) {
        t.ok(nodes.last(name), name)
        await deletionPending(play, name, { status: 'True', reason: 'NodeReady' })
      }
    },
  )

  await t.test('nor do they where they renew their Leases alone', async (t) => {
    callsReady = false
    const before = beaten
    await until('no such call is under way', () => beaten > before + 1)
    await loseHeartbeats(cluster, ...names)
    for (const name of names) await deletionPending(play, name, { status: 'True', reason: 'SignOfLife' })
    await play.vanish(late)
    await play.ends(late)
    for (const name of names) t.ok(nodes.last(name), name)
  })
})
