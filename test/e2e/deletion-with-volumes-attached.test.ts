// kubernetes-sigs/vsphere-csi-driver#221
import t from 'tap'
import { attachVolume, detachVolume } from '../world/csi-driver.ts'
import { deletionPending, eventsOfReason, QUICK, verified, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { openStage } from '../world/stage.ts'

const WAIT = 16_000
const stage = await openStage(t, { vms: 4 })
const { cluster, nodes, vcsim } = stage
const lifecycle = {
  ...QUICK,
  absentFor: '2s',
  maxAbsentShare: '100%',
  waitForVolumes: `${WAIT}ms`,
}
await stage.controller({ lifecycle })
const members = await verified(stage, 'detached', 'stuck', 'bare', 'canary')
const [detached, stuck, bare, canary] = members
if (!detached || !stuck || !bare || !canary) throw new Error('there are four')
await watched(stage)
const gone = [detached, stuck, bare]
await loseHeartbeats(cluster, ...gone.map(({ name }) => name))
await attachVolume(cluster, 'a', detached.name)
await attachVolume(cluster, 'b', detached.name)
await attachVolume(cluster, 'c', stuck.name)
await attachVolume(cluster, 'of-another', canary.name)
await vcsim.hide(...gone.map(({ vm }) => vm.ref))

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'
/** The taint by which kube-controller-manager detaches volumes, in the versions of a Node. */
function outOfService(name: string) {
  return nodes
    .of(name)
    .map(({ object, at }) => ({ at, taint: object.spec.taints?.find(({ key }) => key === OUT_OF_SERVICE) }))
    .filter(({ taint }) => taint !== undefined)
}
const deleted = (name: string) => nodes.until(`${name} is deleted`, () => nodes.last(name) === undefined)

t.test('without volumes nothing is waited for, and no volume taken', async (t) => {
  await deleted(bare.name)
  t.same(outOfService(bare.name), [])
  t.ok(nodes.last(stuck.name), 'while the others are held')
})

t.test(
  'with volumes the Node is called out of service first, and held until they are detached',
  async (t) => {
    await nodes.until('the taint is there', () => outOfService(detached.name).length > 0)
    t.match(outOfService(detached.name)[0]?.taint, { value: 'rollcall', effect: 'NoExecute' })
    t.ok(outOfService(detached.name)[0]?.taint?.timeAdded)
    await stage.events.until(
      'it is told',
      () => eventsOfReason(stage, detached.name, 'OutOfService').length > 0,
    )
    for (const [{ name }, count] of [
      [detached, 2],
      [stuck, 1],
    ] as const) {
      const message = new RegExp(
        `for now: ${count} VolumeAttachments still name Node ${name}; the taint .* has them detached; the Node waits 16s at most`,
      )
      await deletionPending(stage, name, { status: 'True', reason: 'VolumesAttached', message })
      t.ok(nodes.last(name))
    }
    // What kube-controller-manager and the driver do for a Node with that taint.
    await detachVolume(cluster, 'a')
    await detachVolume(cluster, 'b')
    await deleted(detached.name)
  },
)

t.test('or until the time has passed', async (t) => {
  await deleted(stuck.name)
  const [first] = outOfService(stuck.name)
  // From the time in the taint: a busy machine sees the taint late, and would count too little.
  const end = performance.timeOrigin + (nodes.of(stuck.name).at(-1)?.at ?? 0)
  const waited = end - Date.parse(first?.taint?.timeAdded ?? '')
  t.ok(waited >= WAIT, `${Math.round(waited)} ms`)
  t.ok(nodes.last(canary.name))
  t.same(outOfService(canary.name), [])
})
