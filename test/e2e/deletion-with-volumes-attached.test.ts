// kubernetes-sigs/vsphere-csi-driver#221
import t from 'tap'
import { loseHeartbeats } from '../fixtures/readiness.ts'
import { attachVolume, detachVolume } from '../fixtures/volume-attachment.ts'
import { deletionPending, QUICK, verified, watched } from './deletion.ts'
import { openStage } from './stage.ts'

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
const start = performance.now()
await vcsim.hide(...gone.map(({ vm }) => vm.ref))

/** Milliseconds from the VM's end to its Node's. */
async function deleted(name: string): Promise<number> {
  await nodes.until(`${name} is deleted`, () => nodes.last(name) === undefined, 30_000)
  return Math.round((nodes.of(name).at(-1)?.at ?? 0) - start)
}

t.test('without volumes nothing is waited for', async (t) => {
  const took = await deleted(bare.name)
  t.ok(took < WAIT / 2, `${took} ms`)
})

t.test('with volumes the Node is held until they are detached', async (t) => {
  for (const [{ name }, count] of [
    [detached, 2],
    [stuck, 1],
  ] as const) {
    const message = new RegExp(
      `for now: ${count} VolumeAttachments still name Node ${name}; it waits for at most 16s`,
    )
    await deletionPending(stage, name, { status: 'True', reason: 'VolumesAttached', message })
    t.ok(nodes.last(name))
  }
  await detachVolume(cluster, 'a')
  await detachVolume(cluster, 'b')
  const took = await deleted(detached.name)
  t.ok(took < WAIT, `${took} ms`)
  t.ok(nodes.last(stuck.name), 'the other is still held')
})

t.test('or until the time has passed', async (t) => {
  const took = await deleted(stuck.name)
  t.ok(took >= WAIT && took < WAIT + 10_000, `${took} ms`)
  t.ok(nodes.last(canary.name))
})
