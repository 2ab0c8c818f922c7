// VMs that vCenter does not have, of machines that live: unregistered, or in a vCenter that is not configured, or lost with
// last month's backup.
import { SETTINGS } from '../../fixtures/facts.ts'
import { scenario } from '../scenario.ts'
import { BRAKE, DELETED, MISSING, NO_BRAKE } from './common.ts'

const { absentFor } = SETTINGS.lifecycle
/** Milliseconds between renewals of a Lease. */
const RENEWS = 10_000

scenario(
  'those that live are kept, as long as they live',
  {
    nodes: ['ready', 'agent', 'kubelet', 'lease', 'silent', 'later', 'canary'],
    lifecycle: NO_BRAKE,
    refresh: absentFor / 5,
  },
  async (scene, t) => {
    const { ready, agent, kubelet, lease, silent, later } = scene.cast
    const { kubelets } = scene.world.machines
    let renews = true
    const renew = (): void => {
      if (!renews) return
      kubelets.renewLease(lease)
      scene.world.timeline.after(RENEWS, 'somebody renews a Lease', renew)
    }
    agent.kubelet = false
    kubelet.agent = false
    kubelet.ready = false
    lease.kubelet = false
    lease.agent = false
    scene.silence(silent, later)
    await scene.until('they are seen to be silent', () =>
      ['agent', 'lease', 'silent', 'later'].every((name) => scene.ready(name) === 'Unknown'),
    )
    renew()
    scene.hide(ready, agent, kubelet, lease, silent)
    const living = ['ready', 'agent', 'kubelet', 'lease'] as const
    const message = /the Node is Ready, so its machine runs somewhere; check whether its VM was unregistered/
    await scene.said('ready', { status: 'True', reason: 'NodeReady', message })
    await scene.ends(silent)
    scene.hide(later)
    await scene.ends(later)
    for (const name of living) t.ok(scene.node(name), name)

    agent.agent = false
    kubelet.kubelet = false
    renews = false
    for (const machine of [agent, kubelet, lease]) {
      await scene.ends(machine)
      const last = Math.max(machine.reports[0] ?? 0, machine.renewals[0] ?? 0)
      const took = (scene.deletedAt(machine) ?? 0) - last
      t.ok(took >= absentFor, `after the last sign of life (${machine.nodeName}): ${took} ms`)
      await scene.told(machine.nodeName, 'NodeDeleted')
      t.equal(scene.events(machine.nodeName, 'NodeDeleted').length, 1)
    }
    await scene.said('ready', { status: 'True', reason: 'NodeReady' })
    t.ok(scene.node('ready'))
  },
)

scenario(
  'a small cluster: one VM is unregistered, another destroyed a moment later',
  { nodes: ['running', 'destroyed', 'third', 'fourth'] },
  async (scene, t) => {
    const { running, destroyed } = scene.cast
    const before = scene.members.map(({ nodeUID }) => nodeUID)
    scene.hide(running)
    // A third of the time within which VMs vanish at once.
    await scene.pass(absentFor / 15)
    scene.destroy(destroyed)
    await scene.ends(destroyed)
    await scene.counted(DELETED, 1)
    t.same(scene.latched(), [], 'the brake has engaged for nobody')
    await scene.counted(BRAKE, 0)
    await scene.said('running', { status: 'True', reason: 'NodeReady' })
    for (const [index, { nodeName }] of scene.members.entries())
      if (nodeName !== 'destroyed') t.equal(scene.node(nodeName)?.metadata.uid, before[index], nodeName)
  },
)

const TEN = Array.from({ length: 10 }, (_, index) => `node-${index}`)

// It does not know most VMs, whose machines run on. Two of their Nodes are not Ready just then, for reasons of their own.
scenario("vCenter is restored from last month's backup", { nodes: TEN }, async (scene, t) => {
  const { members } = scene
  const [lost, silent] = [members.slice(0, 8), members.slice(0, 2)]
  const [one] = members.slice(-1)
  if (one === undefined) throw new Error('there are ten')
  /** What a Node is to others: its kubelet writes the rest now and then. */
  const asOthersSeeIt = (name: string) => {
    const node = scene.node(name)
    const { uid, labels } = node?.metadata ?? {}
    return { uid, labels, spec: node?.spec, addresses: node?.status.addresses }
  }
  const before = new Map(TEN.map((name) => [name, asOthersSeeIt(name)]))
  const held = (name: string) => ({
    status: 'True' as const,
    reason: 'BrakeEngaged',
    // The command is the last that is said: nothing else is missing of the proof.
    message: new RegExp(
      `kept for now: the deletion brake is engaged: .*: kubectl annotate node ${name} rollcall.dev/deletion=proceed$`,
    ),
  })

  scene.silence(...silent)
  scene.hide(...lost)
  for (const { nodeName } of silent) {
    const { message } = await scene.said(nodeName, held(nodeName))
    t.match(message, 'vCenter vc-1 does not show the VMs of more machines that run than')
    t.match(message, 'it is released 10m after those VMs are registered again')
    await scene.told(nodeName, 'BrakeEngaged')
  }
  await scene.counted(MISSING, lost.length)
  // Longer than a brake that only past deletions, or too few, keep engaged would last, and than agents may be silent.
  await scene.pass(7 * absentFor)
  await scene.probed(2, ...lost.map(({ nodeName }) => nodeName))
  for (const { nodeName } of silent) await scene.said(nodeName, held(nodeName))
  await scene.counted(DELETED, 0)
  t.equal(scene.kept(), 10)

  // When the VMs are registered again, all is as before without a person.
  scene.show(...lost)
  await scene.until('no deletion is pending, and no brake on record', () =>
    lost.every(
      ({ nodeName }) =>
        scene.condition(nodeName)?.status === 'False' && scene.status(nodeName)?.brakeEngagedAt === undefined,
    ),
  )
  await scene.counted(BRAKE, 0)
  await scene.counted(MISSING, 0)
  await scene.until('each is bound to its VM', () =>
    members.every(({ nodeName, vm }) => scene.status(nodeName)?.vm?.moref === vm?.moref),
  )
  for (const machine of silent) machine.linked = true
  await scene.until('their kubelets speak again', () =>
    silent.every(({ nodeName }) => scene.ready(nodeName) === 'True'),
  )
  for (const name of TEN) t.same(asOthersSeeIt(name), before.get(name), name)
  await scene.counted(DELETED, 0)

  // And one VM that is destroyed then loses its Node, as ever.
  scene.destroy(one)
  await scene.ends(one)
  await scene.counted(DELETED, 1)
})
