// VMs are destroyed, and somebody goes on renewing the Leases of their kubelets with those kubelets' certificates.
import t from 'tap'
import { openSender } from '../attacks/sender.ts'
import { until } from '../fixtures/until.ts'
import { prepareReports } from '../world/crowd.ts'
import { deletionPending, QUICK } from '../world/deletion.ts'
import { again, kubeletIdentity, loseHeartbeats } from '../world/kubelet.ts'
import { openPlay } from '../world/play.ts'

const now = () => new Date().toISOString().replace(/\.\d+/, '')

t.test('zombies', async (t) => {
  // So long that no sign of life comes too late on a machine that has other things to do.
  const absentFor = 8_000
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
