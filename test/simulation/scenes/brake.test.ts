// Many VMs vanish at once: an old backup was restored, or the inventory is still being loaded.
import { SETTINGS } from '../../fixtures/facts.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { BRAKE, brakeEvents, DELETED, MISSING } from './common.ts'

const TEN = Array.from({ length: 10 }, (_, index) => `node-${index}`)
const engagedAt = (scene: FixedScene<string>, names: readonly string[]) =>
  names.map((name) => scene.status(name)?.brakeEngagedAt)

scenario('half of the VMs vanish', { nodes: TEN }, async (scene, t) => {
  const half = scene.members.slice(0, 5)
  const names = half.map(({ nodeName }) => nodeName)
  await scene.counted(BRAKE, 0)
  const before = TEN.map(scene.nodeWrites)
  scene.vanish(...half)
  await scene.heldByBrake(...names)
  t.equal(scene.kept(), 10)
  t.ok(
    engagedAt(scene, names).every((at) => at !== undefined),
    'on record',
  )
  await scene.counted(BRAKE, 1)
  await scene.counted(MISSING, 5)
  await scene.counted(DELETED, 0)
  for (const name of names) {
    await scene.told(name, 'BrakeEngaged')
    const message = `kubectl annotate node ${name} rollcall.dev/deletion=proceed`
    t.match(scene.events(name, 'BrakeEngaged')[0], { type: 'Warning', message })
  }
  t.same(TEN.map(scene.nodeWrites), before, 'no Node was written')

  // It survives the controller, and stays engaged for those still missing.
  const engaged = engagedAt(scene, names)
  await scene.nextLeader()
  await scene.counted(BRAKE, 1)
  const [last, ...others] = half
  if (last === undefined) throw new Error('there are five')
  scene.show(...others)
  for (const { nodeName } of others) await scene.said(nodeName, { status: 'False', reason: 'VMExists' })
  await scene.until('it is released for those', () =>
    engagedAt(scene, names)
      .slice(1)
      .every((at) => at === undefined),
  )
  await scene.probed(2, last.nodeName)
  await scene.said(last.nodeName, { status: 'True', reason: 'BrakeEngaged' })
  t.equal(engagedAt(scene, names)[0], engaged[0], 'as it was')
  await scene.counted(BRAKE, 1)
  t.equal(scene.kept(), 10, 'one in ten alone would not have engaged it')

  scene.show(last)
  await scene.said(last.nodeName, { status: 'False', reason: 'VMExists' })
  await scene.counted(BRAKE, 0)
  await scene.until('nothing is on record', () => engagedAt(scene, names).every((at) => at === undefined))
  await scene.counted(DELETED, 0)
  t.equal(scene.kept(), 10)
})

scenario(
  'an autoscaler removes 60 % of the cluster, and says so by its taint',
  { nodes: TEN },
  async (scene, t) => {
    const { api } = scene.world
    const removed = scene.members.slice(0, 6)
    const [survivor] = scene.members.slice(-1)
    if (survivor === undefined) throw new Error('there are ten')
    const taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1767225600', effect: 'NoSchedule' }
    for (const { nodeName } of removed) {
      const node = scene.node(nodeName)
      if (node !== undefined)
        api.putNode(nodeName, { ...node, spec: { ...node.spec, taints: [...node.spec.taints, taint] } })
    }
    scene.vanish(...removed)
    await scene.ends(...removed)
    t.equal(scene.kept(), 4)
    await scene.counted(BRAKE, 0)
    await scene.counted(DELETED, 6)
    for (const { nodeName } of removed) t.same(brakeEvents(scene, nodeName), [], nodeName)

    scene.hide(survivor)
    await scene.said(survivor.nodeName, { status: 'True', reason: 'NodeReady' })
  },
)

// In so short a time that a VM vanishes within the same wave as those whose Nodes are deleted already.
scenario(
  'as many as may go at once, and one more soon after them',
  { nodes: TEN, lifecycle: { absentFor: 2_000 } },
  async (scene, t) => {
    const going = scene.members.slice(0, 3)
    scene.silence(...going)
    await scene.until('they are seen to be silent', () =>
      going.every(({ nodeName }) => scene.ready(nodeName) === 'Unknown'),
    )
    for (const group of [going.slice(0, 2), going.slice(2)]) {
      scene.hide(...group)
      await scene.ends(...group)
    }
    t.same(scene.latched(), [], 'past deletions slow down what follows, and engage no brake that would stay')
    await scene.counted(BRAKE, 0)
    await scene.counted(DELETED, 3)
  },
)

scenario(
  'it releases itself when few are missing for twice absentFor, and what was deleted is remembered',
  { nodes: TEN, lifecycle: { deletionsPerMinute: 1 } },
  async (scene, t) => {
    const { annotate, configFile } = scene.world
    const [last, ...others] = scene.members.slice(0, 4)
    const [one] = scene.members.slice(-1)
    if (last === undefined || one === undefined) throw new Error('there are ten')
    scene.vanish(last, ...others)
    await scene.heldByBrake(last.nodeName, ...others.map(({ nodeName }) => nodeName))
    scene.show(...others)
    const few = scene.world.timeline.now
    // Proven gone at the same time, and a person's to let go.
    annotate(one.nodeName, 'hold')
    scene.vanish(one)
    await scene.ends(last)
    t.equal(scene.kept(), 9, 'without a person; the others are back')
    const took = (scene.deletedAt(last) ?? 0) - few
    t.ok(took >= 2 * SETTINGS.lifecycle.absentFor, `after ${took} ms`)

    const loaded = await scene.count('rollcall_config_last_load_timestamp_seconds')
    configFile.write({ waitForVolumes: 60_000 })
    for (let read = loaded; read === loaded; await scene.pass(1_000))
      read = await scene.count('rollcall_config_last_load_timestamp_seconds')
    annotate(one.nodeName, undefined)
    const message = /deletionsPerMinute is 1, and that many Nodes were deleted/
    await scene.said(one.nodeName, { status: 'True', reason: 'RateLimited', message })
    t.ok(scene.node(one.nodeName), 'the leader has not forgotten what it deleted')
    await scene.ends(one)
    const apart = (scene.deletedAt(one) ?? 0) - (scene.deletedAt(last) ?? 0)
    t.ok(apart >= 60_000, `${apart} ms after the other`)
    await scene.counted(BRAKE, 0)
    await scene.counted(DELETED, 2)
  },
)

scenario('it holds, and says so, while vCenter is away', { nodes: TEN }, async (scene, t) => {
  const { vCenter, members } = scene
  const off = members.slice(4, 8)
  const names = off.map(({ nodeName }) => nodeName)
  scene.vanish(...off)
  await scene.heldByBrake(...names)
  await scene.counted(BRAKE, 1)
  vCenter.reach = 'down'
  vCenter.breakWaits()
  await scene.counted('rollcall_vcenter_up{vcenter="vc-1"}', 0)
  t.equal(await scene.count(BRAKE), 1)
  t.ok(engagedAt(scene, names).every((at) => at !== undefined))
  vCenter.reach = 'works'
  await scene.counted('rollcall_vcenter_up{vcenter="vc-1"}', 1)
  t.equal(await scene.count(BRAKE), 1)
})

for (const deletion of ['dry-run', 'off'] as const)
  scenario(
    `one that deletes nothing (${deletion}) takes the latch away, and engages none`,
    { nodes: TEN },
    async (scene, t) => {
      const { configFile } = scene.world
      const off = scene.members.slice(4, 8)
      const names = off.map(({ nodeName }) => nodeName)
      scene.vanish(...off)
      await scene.heldByBrake(...names)
      configFile.write({ deletion })
      await scene.until('nothing is on record', () => engagedAt(scene, names).every((at) => at === undefined))
      t.equal(scene.kept(), 10)
      configFile.write({ deletion: 'on' })
      await scene.heldByBrake(...names)
      t.ok(
        engagedAt(scene, names).every((at) => at !== undefined),
        'and it engages again',
      )
    },
  )

// What vanished while vCenter was away was last shown just before: at the same time as what vanished first.
scenario('vCenter shows some vanish, and is away while others do', { nodes: TEN }, async (scene, t) => {
  const { vCenter, members } = scene
  const gone = members.slice(0, 4)
  const [first, second] = [gone.slice(0, 2), gone.slice(2)]
  scene.vanish(...first)
  for (const { nodeName } of first) await scene.missing(nodeName)
  vCenter.reach = 'down'
  vCenter.breakWaits()
  await scene.pass(180_000)
  scene.vanish(...second)
  vCenter.reach = 'works'
  await scene.heldByBrake(...gone.map(({ nodeName }) => nodeName))
  await scene.counted(BRAKE, 1)
  await scene.counted(DELETED, 0)
  t.equal(scene.kept(), 10)
})
