// Labels by rule: what vCenter no longer shows, does not let anybody read, or moves.
import type { Test } from 'tap'
import { LABEL_ZONE } from '../../../controller/types/well-known.ts'
import { OWNER } from '../model/label-sources.ts'
import type { VM } from '../model/machine.ts'
import { CATEGORIES, RACK as RACKS, rackOf, removeTag, zoneOf } from '../model/tagging.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'
import { ALL_LABEL_RULES, LABEL_RULES } from '../settings.ts'

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

scenario('a category loses its tags', setting, async (scene, t) => {
  scene.vCenter.retag((tagging) => {
    for (const [id, { category }] of tagging.tags) if (category === RACKS) removeTag(tagging, id)
  })
  await stays(scene, t)
  await scene.said('worker', { status: 'Unknown', reason: 'LabelUnreadable' }, 'LabelsResolved')
})

scenario(
  'the right to read tags is lost, and a machine joins on a host that had none before',
  { nodes: ['worker', 'canary'], labels: CATEGORIES },
  async (scene, t) => {
    const { vCenter } = scene
    const taken = scene.members.flatMap(({ vm }) => vm?.host ?? [])
    const host = ['host-0', 'host-1', 'host-2', 'host-3'].find((each) => !taken.includes(each)) ?? ''
    vCenter.tagsHidden = true
    const { vm } = scene.joins('new')
    if (vm === undefined) throw new Error('it is registered')
    vm.host = host
    vCenter.changed(vm)
    await scene.settled('new')
    const zone = () => scene.node('new')?.metadata.labels[LABEL_ZONE]
    t.equal(zone(), undefined, 'that of its datacenter is not its own')
    await scene.said('new', { status: 'False', reason: 'TagMissing' }, 'TopologyResolved')
    vCenter.tagsHidden = false
    await scene.until('its zone is there', () => zone() !== undefined)
    t.equal(zone(), zoneOf(host))
  },
)

scenario('the tags of all hosts may not be read', setting, async (scene, t) => {
  for (const host of ['host-0', 'host-1', 'host-2', 'host-3'])
    for (const datacenter of ['dc-1', 'dc-2']) scene.vCenter.tagsDenied.set(`${host}.${datacenter}`, 403)
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

const all = { nodes: ['worker', 'canary'], labelRules: ALL_LABEL_RULES } as const
/** In the rules' order, without those of tags and the host. */
const sourcesOf = (scene: FixedScene<string>) => {
  const { labels = {} } = scene.node('worker')?.metadata ?? {}
  return ALL_LABEL_RULES.slice(LABEL_RULES.length).map(({ label }) => labels[label])
}

/** Puts the VM of "worker" somewhere, with these custom attributes. */
function place(
  scene: FixedScene<string>,
  to: Partial<Pick<VM, 'host' | 'pool' | 'folder' | 'attributes'>>,
  vm = vmOf(scene),
) {
  Object.assign(vm, to)
  scene.vCenter.changed(vm)
}

const FIRST = ['cluster-of-dc-1', 'Resources', 'first', 'dc-1', 'team-a', 'team-a']

/** Where the scenes with all rules begin. */
async function settle(scene: FixedScene<string>, t: Test): Promise<void> {
  const [folder] = scene.vCenter.folders
  if (folder === undefined) throw new Error('every vCenter has folders')
  place(scene, { host: 'host-0', folder, pool: 'resgroup-8', attributes: { [OWNER]: 'team-a' } })
  // The folder alone is not pushed.
  await scene.pass(READ_TWICE)
  t.same(sourcesOf(scene), FIRST)
}

scenario('a VM moves, and all that is known of it is another: one write', all, async (scene, t) => {
  const { folders } = scene.vCenter
  const folder = folders.at(-1)
  if (folder === undefined) throw new Error('every vCenter has folders')
  // The host is known before the VM is there.
  place(scene, { host: 'host-2', folder }, scene.members[1]?.vm)
  await settle(scene, t)
  const before = scene.nodeWrites('worker')
  place(scene, { host: 'host-2', folder, pool: 'resgroup-9' })
  await scene.until('the labels follow', () => sourcesOf(scene)[1] === 'reserved')
  await scene.pass(60_000)
  t.same(
    sourcesOf(scene),
    ['cluster-of-dc-2', 'reserved', folder.name, 'dc-1', 'team-a', 'team-a'],
    'the datacenter is that of its initialization',
  )
  t.same(labelsOf(scene), ['rack-of-host-2', 'rack-of-host-2', 'host-2'])
  t.equal(scene.nodeWrites('worker') - before, 1)

  const second = folders[1]
  if (second === undefined) throw new Error('every vCenter has folders')
  place(scene, { folder: second, host: 'host-3' })
  await scene.said('worker', { status: 'False', reason: 'LabelAmbiguous' }, 'LabelsResolved')
  t.equal(sourcesOf(scene)[2], folder.name, 'what may be two things is not guessed')
  t.equal(sourcesOf(scene)[0], 'cluster-of-dc-2', 'once is not enough')
  await scene.until('it is in no cluster', () => sourcesOf(scene)[0] === undefined)
})

scenario('a custom attribute is changed, and removed', all, async (scene, t) => {
  await settle(scene, t)
  const owners = () => sourcesOf(scene).slice(4)
  place(scene, { attributes: { [OWNER]: 'team-b' } })
  await scene.until('the labels follow', () => owners().join() === 'team-b,team-b')
  place(scene, { attributes: { [OWNER]: 'Team C!' } })
  await scene.until('the one with a map follows', () => owners().join() === 'team-b,team-c')
  await scene.said('worker', { status: 'False', reason: 'LabelInvalid' }, 'LabelsResolved')
  place(scene, { attributes: {} })
  await scene.said('worker', { message: /owner stays .* until all was read again/ }, 'LabelsResolved')
  t.same(owners(), ['team-b', 'team-c'], 'once is not enough')
  await scene.until('they are removed', () => owners().join('') === '')
  place(scene, { attributes: { [OWNER]: 'team-a' } })
  await scene.until('they are back', () => owners().join() === 'team-a,team-a')
})

const hideAttributes =
  (hidden: 'names' | 'values' | 'all') =>
  ({ vCenter }: FixedScene<string>): void => {
    vCenter.attributesHidden = hidden
    vCenter.changedAll()
  }

for (const [what, hide] of [
  ['the names of custom attributes may not be read', hideAttributes('names')],
  ['the values of custom attributes may not be read', hideAttributes('values')],
  ['the definitions of custom attributes are removed', hideAttributes('all')],
  [
    'what stands above a VM may not be read',
    ({ vCenter }: FixedScene<string>) => {
      for (const hidden of ['host-0.dc-1', 'cluster-of-dc-1', 'resgroup-8']) vCenter.denied.add(hidden)
    },
  ],
] as const)
  scenario(what, all, async (scene, t) => {
    await settle(scene, t)
    hide(scene)
    await scene.pass(READ_TWICE)
    await scene.nextLeader()
    await scene.pass(READ_TWICE)
    t.same(sourcesOf(scene), FIRST)
    await scene.said('worker', { status: 'Unknown', reason: 'LabelUnreadable' }, 'LabelsResolved')
  })

scenario('a person writes a label', setting, async (scene, t) => {
  const { api } = scene.world
  const [label = ''] = LABEL_RULES.map((rule) => rule.label)
  const write = (value: string | undefined): void => {
    const node = scene.node('worker')
    if (node === undefined) throw new Error('it has a Node')
    const { [label]: _, ...others } = node.metadata.labels
    const labels = value === undefined ? others : { ...others, [label]: value }
    api.putNode('worker', { ...node, metadata: { ...node.metadata, labels } })
  }
  write('mine')
  await scene.said('worker', { status: 'False', reason: 'LabelNotOurs' }, 'LabelsResolved')
  await scene.nextLeader()
  await scene.pass(READ_TWICE)
  t.equal(labelsOf(scene)[0], 'mine')
  write(undefined)
  await scene.until('it is back', () => labelsOf(scene)[0] === rackOf(vmOf(scene).host))
})
