// Machines whose VMs are destroyed, and whose Leases somebody goes on renewing with the certificates of their kubelets.
import t from 'tap'
import { openSender } from '../attacks/sender.ts'
import { until } from '../fixtures/until.ts'
import { deleted, deletionPending, QUICK, verified, watched } from '../world/deletion.ts'
import { kubeletIdentity, loseHeartbeats } from '../world/kubelet.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 8 })
const { cluster, nodes, vcsim } = stage
// The agents count as silent after six times `absentFor`.
await stage.controller({ lifecycle: { ...QUICK, maxAbsentMinimum: 1, maxAbsentShare: '0%' } })
const ZOMBIES = ['zombie-1', 'zombie-2', 'zombie-3']
const members = await verified(stage, ...ZOMBIES, 'gone', 'late', 'canary')
const zombies = members.filter(({ name }) => ZOMBIES.includes(name))
const [gone, late] = members.filter(({ name }) => name === 'gone' || name === 'late')
if (gone === undefined || late === undefined) throw new Error('they are there')
await watched(stage)

/** Whether they call their Nodes Ready as well. */
let callsReady = true

/** Renews the Lease, and says that the Node is Ready, as the kubelet of that name would. */
async function kubelet(name: string) {
  const { send, close } = await openSender(cluster, {
    certificate: await cluster.clientCertificate(kubeletIdentity(name)),
  })
  t.teardown(close)
  return async () => {
    const now = new Date().toISOString()
    const lease = await send({
      method: 'PATCH',
      path: `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${name}?fieldManager=kubelet&force=true`,
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace: 'kube-node-lease' },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: now.replace('Z', '000Z') },
      },
      contentType: 'application/apply-patch+yaml',
    })
    if (lease.status > 201) throw new Error(lease.message)
    if (!callsReady) return
    const status = await send({
      method: 'PATCH',
      path: `/api/v1/nodes/${name}/status`,
      body: {
        status: {
          conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', lastHeartbeatTime: now }],
        },
      },
      contentType: 'application/strategic-merge-patch+json',
    })
    if (status.status !== 200) throw new Error(status.message)
  }
}

const ended = new AbortController()
const beats = await Promise.all(ZOMBIES.map(kubelet))
async function everyHalfSecond(act: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await act()
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}
let beaten = 0
const beating = everyHalfSecond(async () => {
  await Promise.all(beats.map((beat) => beat()))
  beaten++
}, ended.signal)

t.test(
  'while their agents report, vCenter is wrong about them, and is not believed about others',
  async (t) => {
    const silenced = new AbortController()
    let rounds = 0
    const reporting = everyHalfSecond(async () => {
      await Promise.all(zombies.map((each) => each.reportOnce()))
      rounds++
    }, silenced.signal)
    await vcsim.hide(...zombies.map(({ vm }) => vm.ref))
    for (const { name } of zombies)
      await deletionPending(stage, name, { status: 'True', reason: 'NodeReady' })
    const before = rounds
    await until('they have reported since', () => rounds > before + 4)
    await vcsim.hide(gone.vm.ref)
    await loseHeartbeats(cluster, gone.name)
    await deletionPending(stage, gone.name, { reason: 'BrakeEngaged', message: /more machines that run/ })
    const held = rounds
    // At half a second and more each, for longer than the agents may be silent.
    await until('they go on reporting', () => rounds > held + 40)
    t.ok(nodes.last(gone.name), 'it is held')
    silenced.abort()
    await reporting
  },
)

t.test('once their kubelets alone have spoken for long, they are kept, and hold nobody', async (t) => {
  await deleted(stage, gone.name)
  for (const name of ZOMBIES) {
    t.ok(nodes.last(name), name)
    await deletionPending(stage, name, { status: 'True', reason: 'NodeReady' })
  }
})

t.test('nor do they where they renew their Leases alone', async (t) => {
  callsReady = false
  const before = beaten
  await until('no such call is under way', () => beaten > before + 1)
  await loseHeartbeats(cluster, ...ZOMBIES)
  for (const name of ZOMBIES) await deletionPending(stage, name, { status: 'True', reason: 'SignOfLife' })
  await vcsim.hide(late.vm.ref)
  await loseHeartbeats(cluster, late.name)
  await deleted(stage, late.name)
  for (const name of ZOMBIES) t.ok(nodes.last(name), name)
  ended.abort()
  await beating
})
