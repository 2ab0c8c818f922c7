// kubernetes-sigs/vsphere-csi-driver#221
import t from 'tap'
import { attachVolume, detachVolume } from '../world/csi-driver.ts'
import { deletionPending, eventsOfReason, QUICK } from '../world/deletion.ts'
import { openPlay } from '../world/play.ts'

const WAIT = 16_000
const play = await openPlay(t, ['detached', 'stuck', 'bare', 'canary'], {
  ...QUICK,
  absentFor: '2s',
  maxAbsentShare: '100%',
  waitForVolumes: `${WAIT}ms`,
})
const { cluster, nodes } = play
const { detached, stuck, bare, canary } = play.cast
await attachVolume(cluster, 'a', detached.name)
await attachVolume(cluster, 'b', detached.name)
await attachVolume(cluster, 'c', stuck.name)
await attachVolume(cluster, 'of-another', canary.name)
await play.vanish(detached, stuck, bare)

const OUT_OF_SERVICE = 'node.kubernetes.io/out-of-service'
/** The taint by which kube-controller-manager detaches volumes, in the versions of a Node. */
function outOfService(name: string) {
  return nodes
    .of(name)
    .map(({ object, at }) => ({ at, taint: object.spec.taints?.find(({ key }) => key === OUT_OF_SERVICE) }))
    .filter(({ taint }) => taint !== undefined)
}

t.test('without volumes nothing is waited for, and no volume taken', async (t) => {
  await play.ends(bare)
  t.same(outOfService(bare.name), [])
  t.ok(nodes.last(stuck.name), 'while the others are held')
})

t.test(
  'with volumes the Node is called out of service first, and held until they are detached',
  async (t) => {
    await nodes.until('the taint is there', () => outOfService(detached.name).length > 0)
    t.match(outOfService(detached.name)[0]?.taint, { value: 'rollcall', effect: 'NoExecute' })
    t.ok(outOfService(detached.name)[0]?.taint?.timeAdded)
    await play.events.until(
      'it is told',
      () => eventsOfReason(play, detached.name, 'OutOfService').length > 0,
    )
    for (const [{ name }, count] of [
      [detached, 2],
      [stuck, 1],
    ] as const) {
      const message = new RegExp(
        `for now: ${count} VolumeAttachments still name Node ${name}; the taint .* has them detached; the Node waits 16s at most`,
      )
      await deletionPending(play, name, { status: 'True', reason: 'VolumesAttached', message })
      t.ok(nodes.last(name))
    }
    // What kube-controller-manager and the driver do for a Node with that taint.
    await detachVolume(cluster, 'a')
    await detachVolume(cluster, 'b')
    await play.ends(detached)
  },
)

t.test('or until the time has passed', async (t) => {
  await play.ends(stuck)
  const [first] = outOfService(stuck.name)
  // From the time in the taint: a busy machine sees the taint late, and would count too little.
  const end = performance.timeOrigin + (nodes.of(stuck.name).at(-1)?.at ?? 0)
  const waited = end - Date.parse(first?.taint?.timeAdded ?? '')
  t.ok(waited >= WAIT, `${Math.round(waited)} ms`)
  t.ok(nodes.last(canary.name))
  t.same(outOfService(canary.name), [])
})
