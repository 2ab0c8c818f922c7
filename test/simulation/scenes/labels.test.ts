// Labels by rule: what vCenter no longer shows, does not let anybody read, or moves.
import type { Test } from 'tap'
import { rackOf } from '../model/rest.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { LABEL_RULES } from '../settings.ts'

const [RACK, BEYOND, HOST] = LABEL_RULES.map(({ label }) => label)
/** Longer than until all is read twice; milliseconds. */
const READ_TWICE = 1_500_000

const labelsOf = (scene: FixedScene<string>, name = 'worker') => {
  const { labels = {} } = scene.node(name)?.metadata ?? {}
  return [RACK, BEYOND, HOST].map((label) => labels[label ?? ''])
}

function vmOf(scene: FixedScene<string>) {
  const vm = scene.members[0]?.vm
  if (vm === undefined) throw new Error('worker has a VM')
  return vm
}

const setting = { nodes: ['worker', 'canary'], labelRules: LABEL_RULES } as const

/** What was there is there after all was read twice, and by the next leader as well. */
async function stays(scene: FixedScene<string>, t: Test): Promise<void> {
  const { host } = vmOf(scene)
  const written = [rackOf(host), rackOf(host), host]
  t.same(labelsOf(scene), written)
  await scene.pass(READ_TWICE)
  t.same(labelsOf(scene), written)
  await scene.nextLeader()
  await scene.pass(READ_TWICE)
  t.same(labelsOf(scene), written)
}

scenario('the right to read tags is lost', setting, async (scene, t) => {
  scene.vCenter.tagsHidden = true
  await stays(scene, t)
  await scene.said('worker', { status: 'Unknown', reason: 'LabelUnreadable' }, 'LabelsResolved')
})

scenario('the tags of all hosts may not be read', setting, async (scene, t) => {
  for (const host of ['host-0', 'host-1', 'host-2', 'host-3'])
    for (const datacenter of ['dc-1', 'dc-2']) scene.vCenter.tagsDenied.add(`${host}.${datacenter}`)
  await stays(scene, t)
  await scene.said('worker', { status: 'Unknown', reason: 'LabelUnreadable' }, 'LabelsResolved')
})

scenario('vCenter is away', setting, async (scene, t) => {
  scene.vCenter.reach = 'down'
  scene.vCenter.breakWaits()
  await stays(scene, t)
})

scenario('a tag is detached, and attached again', setting, async (scene, t) => {
  const { vCenter } = scene
  const { host } = vmOf(scene)
  for (const datacenter of ['dc-1', 'dc-2']) vCenter.untagged.add(`${host}.${datacenter} ${rackOf(host)}`)
  await scene.said(
    'worker',
    { status: 'True', message: /rack stays .* until all was read again/ },
    'LabelsResolved',
  )
  t.same(labelsOf(scene), [rackOf(host), rackOf(host), host], 'once is not enough')
  await scene.until('the labels are removed', () => labelsOf(scene)[0] === undefined)
  t.same(labelsOf(scene), [undefined, undefined, host])
  vCenter.untagged.clear()
  await scene.until('they are back', () => labelsOf(scene)[0] !== undefined)
  t.same(labelsOf(scene), [rackOf(host), rackOf(host), host])
})

scenario('a VM moves to another host: one write', setting, async (scene, t) => {
  const { vCenter } = scene
  const vm = vmOf(scene)
  const before = scene.nodeWrites('worker')
  vm.host = vm.host === 'host-1' ? 'host-2' : 'host-1'
  vCenter.changed(vm)
  await scene.until('the labels follow', () => labelsOf(scene)[2] === vm.host)
  await scene.pass(60_000)
  t.same(labelsOf(scene), [rackOf(vm.host), rackOf(vm.host), vm.host])
  t.equal(scene.nodeWrites('worker') - before, 1)
})
