// Zone tags that are two on one host, renamed, no label values, or deleted while they are read.
import type { Test } from 'tap'
import { LABEL_REGION, LABEL_ZONE } from '../../../controller/types/well-known.ts'
import {
  addTag,
  CATEGORIES,
  FOREIGN_CATEGORIES,
  removeCategory,
  removeTag,
  renameTag,
  type TagName,
  zoneOf,
} from '../model/tagging.ts'
import { scenario } from '../scenario.ts'
import type { FixedScene } from '../scene.ts'

/** Tags are read every five minutes, give or take a tenth; milliseconds. */
const PROMISED = 340_000
/** Longer than until all is read twice. */
const READ_TWICE = 700_000
/** Long before tags are read again. */
const SOON = 20_000
const TOPOLOGY = 'TopologyResolved'

const setting = { nodes: ['worker', 'other', 'canary'], labels: CATEGORIES, onChange: 'relabel' } as const

const zone = (scene: FixedScene<string>, name = 'worker') => scene.node(name)?.metadata.labels[LABEL_ZONE]

/** Puts a machine's VM on a host. */
async function place(scene: FixedScene<string>, name: string, host: string): Promise<void> {
  const vm = scene.world.machines.all.find(({ nodeName }) => nodeName === name)?.vm
  if (vm === undefined) throw new Error(`${name} has a VM`)
  vm.host = host
  scene.vCenter.changed(vm)
  await scene.settled(name)
}

/** "worker" on host-1, "other" on host-2, and the canary elsewhere. */
async function settle(scene: FixedScene<string>, t: Test): Promise<void> {
  for (const [name, host] of [
    ['worker', 'host-1'],
    ['other', 'host-2'],
    ['canary', 'host-3'],
  ] as const) {
    await place(scene, name, host)
    await scene.until(`${name} has its zone`, () => zone(scene, name) === zoneOf(host))
  }
  t.equal(scene.vCenter, scene.members[0]?.vm?.vCenter)
}

/** It stays so, whatever is read again, and by the next leader as well. */
async function stays(scene: FixedScene<string>, t: Test, name: string, value: string | undefined) {
  t.equal(zone(scene, name), value)
  await scene.pass(READ_TWICE)
  t.equal(zone(scene, name), value)
  await scene.nextLeader()
  await scene.pass(READ_TWICE)
  t.equal(zone(scene, name), value)
}

function rename({ vCenter }: FixedScene<string>, id: string, name: TagName): void {
  vCenter.retag(({ tags }) => {
    const tag = tags.get(id)
    if (tag === undefined) throw new Error(`no tag is ${id}`)
    renameTag(tag, name)
  })
}

/** A machine that joins on a host. */
async function joins(scene: FixedScene<string>, name: string, host: string): Promise<void> {
  scene.joins(name)
  await place(scene, name, host)
}

scenario('two zone tags on one host: the Node keeps its own', setting, async (scene, t) => {
  await settle(scene, t)
  const [own, before] = [zoneOf('host-1'), zoneOf('host-0')]
  scene.vCenter.retag(({ attached }) => attached.get('host-1.dc-1')?.add(before))
  await scene.pass(PROMISED)
  const message = new RegExp(`"${before}", "${own}"; ${own} counts`)
  await scene.said('worker', { status: 'False', reason: 'TagsAmbiguous', message }, TOPOLOGY)
  await joins(scene, 'new', 'host-1')
  t.equal(zone(scene, 'new'), before, 'the first by name')
  const writes = scene.nodeWrites('worker')
  await stays(scene, t, 'worker', own)
  t.equal(zone(scene, 'new'), before)
  t.equal(scene.nodeWrites('worker'), writes)
  scene.vCenter.retag(({ attached }) => attached.get('host-1.dc-1')?.delete(own))
  await scene.pass(PROMISED)
  t.equal(zone(scene), before)
  await scene.said('worker', { status: 'True', reason: 'Resolved' }, TOPOLOGY)
})

scenario('a zone tag is renamed: the Node follows in five minutes', setting, async (scene, t) => {
  await settle(scene, t)
  rename(scene, zoneOf('host-1'), { name: 'Zürich 1', label: 'Zurich-1' })
  await scene.pass(PROMISED)
  t.equal(zone(scene), 'Zurich-1')
  t.equal(zone(scene, 'other'), zoneOf('host-2'))
})

scenario('the zone category is renamed: the Node keeps what stands', setting, async (scene, t) => {
  await settle(scene, t)
  const { vCenter } = scene
  vCenter.retag(({ categories }) => categories.set(CATEGORIES.zone, 'former'))
  await scene.pass(PROMISED)
  const missing = { status: 'False', reason: 'TagMissing', message: /no tag of category "k8s-zone"/ } as const
  await scene.said('worker', missing, TOPOLOGY)
  await joins(scene, 'new', 'host-1')
  t.equal(zone(scene, 'new'), undefined)
  await stays(scene, t, 'worker', zoneOf('host-1'))
  vCenter.retag(({ categories }) => categories.set(CATEGORIES.zone, CATEGORIES.zone))
  await scene.pass(PROMISED)
  t.equal(zone(scene, 'new'), zoneOf('host-1'))
  await scene.said('worker', { status: 'True', reason: 'Resolved' }, TOPOLOGY)
})

scenario('the zone category is deleted, and another has its name', setting, async (scene, t) => {
  await settle(scene, t)
  scene.vCenter.retag((tagging) => {
    removeCategory(tagging, CATEGORIES.zone)
    tagging.categories.set('another', CATEGORIES.zone)
    addTag(tagging, 'another', { name: 'east', label: 'east' }, ['host-1.dc-1'])
  })
  await scene.pass(PROMISED)
  t.equal(zone(scene), 'east')
  t.equal(zone(scene, 'other'), zoneOf('host-2'), 'what stands')
  await scene.said('other', { status: 'False', reason: 'TagMissing' }, TOPOLOGY)
})

scenario('names of zone tags that lose letters as a label', setting, async (scene, t) => {
  await settle(scene, t)
  rename(scene, zoneOf('host-1'), { name: '北京-1', label: undefined })
  rename(scene, zoneOf('host-2'), { name: '上海-1', label: undefined })
  await scene.pass(PROMISED)
  for (const [name, host, tag] of [
    ['worker', 'host-1', '北京-1'],
    ['other', 'host-2', '上海-1'],
  ] as const) {
    const message = new RegExp(`"${tag}" .* without losing letters`)
    await scene.said(name, { status: 'False', reason: 'TagMissing', message }, TOPOLOGY)
    await joins(scene, `new-${name}`, host)
    t.equal(zone(scene, `new-${name}`), undefined)
    t.equal(zone(scene, name), zoneOf(host), 'what stands')
  }
})

scenario('names of zone tags that one label would stand for', setting, async (scene, t) => {
  await settle(scene, t)
  rename(scene, zoneOf('host-1'), { name: 'zone 1', label: 'zone-1' })
  rename(scene, zoneOf('host-2'), { name: 'zone (1)', label: 'zone-1' })
  await scene.pass(PROMISED)
  const message = /"zone 1" .* would be zone-1, the same as that of "zone \(1\)"/
  await scene.said('worker', { status: 'False', reason: 'TagMissing', message }, TOPOLOGY)
  await joins(scene, 'new', 'host-2')
  t.equal(zone(scene, 'new'), undefined)
  await stays(scene, t, 'worker', zoneOf('host-1'))
  scene.vCenter.retag((tagging) => removeTag(tagging, zoneOf('host-2')))
  await scene.pass(PROMISED)
  t.equal(zone(scene), 'zone-1', 'the only one')
})

scenario('a zone tag that may give the label of another may not be read', setting, async (scene, t) => {
  await settle(scene, t)
  const { vCenter } = scene
  rename(scene, zoneOf('host-1'), { name: 'zone 1', label: 'zone-1' })
  await scene.pass(PROMISED)
  t.equal(zone(scene), 'zone-1')
  rename(scene, zoneOf('host-2'), { name: 'zone (1)', label: 'zone-1' })
  vCenter.tagsDenied.set(zoneOf('host-1'), 403)
  await scene.nextLeader()
  await joins(scene, 'new', 'host-2')
  await scene.said('new', { status: 'False', reason: 'TagsUnreadable' }, TOPOLOGY)
  t.equal(zone(scene, 'new'), undefined)
  vCenter.tagsDenied.clear()
  await scene.said('new', { status: 'False', reason: 'TagMissing' }, TOPOLOGY)
  await stays(scene, t, 'new', undefined)
})

scenario('categories of somebody else are listed and gone', setting, async (scene, t) => {
  await settle(scene, t)
  scene.vCenter.retag(({ stillListed }) => {
    for (const category of FOREIGN_CATEGORIES) stillListed.add(category)
  })
  await stays(scene, t, 'worker', zoneOf('host-1'))
  await joins(scene, 'new', 'host-2')
  t.equal(zone(scene, 'new'), zoneOf('host-2'))
  await scene.said('new', { status: 'True', reason: 'Resolved' }, TOPOLOGY)
})

scenario('a zone tag is listed and gone', setting, async (scene, t) => {
  await settle(scene, t)
  const { vCenter } = scene
  vCenter.retag(({ stillListed }) => stillListed.add(zoneOf('host-1')))
  await scene.pass(PROMISED)
  await scene.said('worker', { status: 'False', reason: 'TagsUnreadable', message: /404/ }, TOPOLOGY)
  await stays(scene, t, 'worker', zoneOf('host-1'))
  await joins(scene, 'new', 'host-2')
  t.equal(zone(scene, 'new'), zoneOf('host-2'), 'no other zone is hidden')
  await scene.said('other', { status: 'True', reason: 'Resolved' }, TOPOLOGY)
  vCenter.retag((tagging) => removeTag(tagging, zoneOf('host-1')))
  await scene.pass(PROMISED)
  t.equal(zone(scene), zoneOf('dc-1'), 'now the farther one counts')
})

scenario('the zone category is gone when its tags are read', setting, async (scene, t) => {
  await settle(scene, t)
  await place(scene, 'canary', 'host-2')
  // No host is known by then on which nobody is.
  await scene.pass(PROMISED)
  scene.vCenter.retag((tagging) => {
    removeCategory(tagging, CATEGORIES.zone)
    tagging.categories.set('another', CATEGORIES.zone)
    addTag(tagging, 'another', { name: 'east', label: 'east' }, ['host-0.dc-1'])
    addTag(tagging, CATEGORIES.region, { name: 'north', label: 'north' }, ['host-0.dc-1'])
  })
  await joins(scene, 'new', 'host-0')
  await scene.pass(SOON)
  t.equal(scene.node('new')?.metadata.labels[LABEL_REGION], 'north')
  t.equal(zone(scene, 'new'), 'east', 'the other category is found by its name')
  t.equal(zone(scene), zoneOf('host-1'), 'what stands')
})
