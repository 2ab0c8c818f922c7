// VMs are gone beyond doubt: their Nodes go, unless the administrator does not want that.
import { parseOptions } from '../../../agent/options.ts'
import { file, load } from '../../../controller/config/testing/load.ts'
import { SETTINGS } from '../../fixtures/facts.ts'
import { scenario } from '../scenario.ts'
import { BRAKE, brakeEvents, DELETED, NO_BRAKE } from './common.ts'

const { absentFor, confirmations } = SETTINGS.lifecycle
/** What vanishes within a fourth of absentFor vanishes at once. */
const APART = absentFor / 4

scenario(
  'a small cluster, whose workers are destroyed one after the other',
  { nodes: ['node-0', 'node-1', 'node-2', 'node-3', 'node-4'] },
  async (scene, t) => {
    const workers = scene.members.slice(0, 4)
    const destroyedAt = new Map<string, number>()
    for (const [index, worker] of workers.entries()) {
      if (index > 0) await scene.pass(APART)
      destroyedAt.set(worker.nodeName, scene.world.timeline.now)
      scene.destroy(worker)
      // The next VM vanishes only after this one is known to be missing: several are at once.
      await scene.missing(worker.nodeName)
    }
    await scene.ends(...workers)
    for (const worker of workers) {
      const { nodeName } = worker
      const took = (scene.deletedAt(worker) ?? 0) - (destroyedAt.get(nodeName) ?? 0)
      t.ok(took >= absentFor, `${nodeName} goes after ${took} ms`)
      t.same(brakeEvents(scene, nodeName), [], nodeName)
    }
    t.same(scene.latched(), [], 'the brake never engages')
    await scene.counted(BRAKE, 0)
    await scene.counted(DELETED, 4)
  },
)

const agent = parseOptions([])
if (agent.kind !== 'options') throw new Error('no option is needed')
const { refresh } = agent.options
const { lifecycle } = (await load(file(''))).config

// Kubernetes' own test waits for five minutes, and looks every 20 s: test/e2e/cloud/nodes.go.
scenario(
  'with all that agent and controller ship with, it takes less than five minutes',
  { nodes: ['node-0', 'node-1', 'node-2', 'node-3'], lifecycle, refresh },
  async (scene, t) => {
    for (const name of ['node-1', 'node-3'] as const) {
      const machine = scene.cast[name]
      await scene.pass(3 * lifecycle.absentFor)
      const destroyedAt = scene.world.timeline.now
      scene.destroy(machine)
      await scene.ends(machine)
      const took = (scene.deletedAt(machine) ?? 0) - destroyedAt
      t.ok(took >= lifecycle.absentFor && took < 280_000, `${name} goes after ${took} ms`)
    }
  },
)

const UNWANTED = [
  ['off', 'DeletionOff', 'lifecycle.deletion is off; delete the Node by hand, or set it to on'],
  ['dry-run', 'DryRun', 'lifecycle.deletion is dry-run; with on, this Node would be deleted now'],
] as const

scenario('its deletion is not wanted', { nodes: ['gone', 'canary'] }, async (scene, t) => {
  const { gone } = scene.cast
  const { configFile, annotate } = scene.world
  scene.vanish(gone)

  for (const [deletion, reason, why] of UNWANTED) {
    configFile.write({ deletion })
    await scene.nextLeader()
    // Nothing else is missing: what takes time has passed.
    const message = new RegExp(`is gone, and the Node is kept for now: ${why}$`)
    await scene.said('gone', { status: 'True', reason, message })
    await scene.told('gone', reason)
    t.equal(scene.events('gone', reason)[0]?.type, 'Warning')
    await scene.counted(DELETED, 0)
    await scene.counted(`rollcall_node_deletions_pending{status="True",reason="${reason}"}`, 1)
    t.ok(scene.node('gone'), `lifecycle.deletion is ${deletion}`)
  }

  annotate('gone', 'hold')
  configFile.write({ deletion: 'on' })
  await scene.nextLeader()
  const held =
    /is kept for now: the annotation rollcall.dev\/deletion=hold keeps it; to allow its deletion: kubectl annotate node gone rollcall.dev\/deletion-$/
  await scene.said('gone', { status: 'True', reason: 'DeletionHeld', message: held })
  annotate('gone', 'nonsense')
  const unknown = /is neither hold nor proceed \(8 characters\) and counts as hold; [^;]*$/
  await scene.said('gone', { status: 'True', reason: 'DeletionHeld', message: unknown })
  t.ok(scene.node('gone'), 'a person holds the Node')
  annotate('gone', undefined)
  await scene.ends(gone)
})

scenario(
  'a leader that takes over in the middle begins anew; one that is young waits',
  { nodes: ['one', 'other', 'canary'], lifecycle: NO_BRAKE },
  async (scene, t) => {
    const { one, other } = scene.cast
    const { api, configFile, judge } = scene.world
    const leaderAge = 2 * absentFor
    scene.vanish(one)
    await scene.said('one', { status: 'True', reason: 'NotConfirmed' })
    await scene.nextLeader()
    const { identity: second, since } = api.holder
    await scene.ends(one)
    const led = (scene.deletedAt(one) ?? 0) - since
    t.ok(led >= absentFor, `after ${led} ms`)
    t.ok((judge.work(second, 'one').heard?.length ?? 0) >= confirmations, 'it has counted for itself')

    scene.vanish(other)
    configFile.write({ leaderAge })
    await scene.nextLeader()
    const third = api.holder.since
    const message =
      /is gone, and the Node is kept for now: this controller must lead for 10m first \(lifecycle\.leaderAge\)$/
    await scene.said('other', { status: 'True', reason: 'LeaderTooYoung', message })
    await scene.ends(other)
    const young = (scene.deletedAt(other) ?? 0) - third
    t.ok(young >= leaderAge, `after ${young} ms`)
  },
)
