/** What happens to other facts while tags cannot be read, and to tags while some of them cannot be read. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import type { Vcsim } from '../../test/servers/vcsim.ts'
import { answered, type Lab, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const CATEGORY = 'REST GET /rest/com/vmware/cis/tagging/category/*'
const ZONE = { category: 'k8s-zone', tag: 'a', object: 'DC0_C0' }
const REGION = { category: 'k8s-region', tag: 'r', object: 'DC0' }

async function idOfCategory(vCenter: Vcsim, name: string): Promise<string> {
  const id = /ID:\s*(\S+)/.exec(await vCenter.govc('tags.category.info', name))?.[1]
  if (id === undefined) throw new Error(`vCenter has no category ${name}`)
  return id
}

const ancestryOf = ({ inventory }: Lab, uuid: string) => vmsOf(inventory.lookup(uuid))?.[0]?.ancestry

t.test('tags that cannot be read keep nothing else back', async (t) => {
  for (const status of [403, 503]) {
    const lab = await openLab(t, {
      before: async (vCenter) => {
        await vCenter.tag(ZONE)
        await vCenter.fault({
          operation: 'REST POST /rest/com/vmware/cis/session',
          kind: 'status',
          status,
        })
      },
    })
    const vm = await vmAt(lab, 0)
    lab.inventory.follow(vm.uuid)
    const ancestry = await until('ancestry', () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]?.ancestry)
    t.match(ancestry.unreadable, [new RegExp(`HTTP status ${status}`)])
    t.equal(lab.inventory.failure(), undefined)
    await lab.vCenter.clearFaults()
    await until('its tag', () => ancestryOf(lab, vm.uuid)?.compute[1]?.tags[0]?.name === 'a')
  }
})

t.test('a tag service that hangs holds up nothing but the first, and that not for long', async (t) => {
  const session = 'REST POST /rest/com/vmware/cis/session'
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 5_000, loginDeadline: 5_000, restSessionExpires: 5_000 },
    before: async (vCenter) => {
      await vCenter.tag({ category: 'k8s-zone', tag: 'z', object: 'DC0_C0' })
      await vCenter.fault({ operation: session, kind: 'hang' })
    },
  })
  const [first, second] = [await vmAt(lab, 0), await vmAt(lab, 1)]
  const ancestryOf = (uuid: string) => () => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry
  lab.inventory.follow(first.uuid)
  await answered(lab, first.uuid)
  t.ok(lab.inventory.connected(), 'what SOAP says is there')
  t.equal(ancestryOf(first.uuid)(), undefined)
  const given = await until('no more waiting', ancestryOf(first.uuid))
  t.match(given.unreadable[0], /s; check the state/)
  await until('another attempt', async () => ((await lab.vCenter.calls()).operations[session] ?? 0) > 1)
  lab.inventory.follow(second.uuid)
  await until('the next is not held up', ancestryOf(second.uuid))
  t.equal(lab.inventory.failure(), undefined)
  await lab.vCenter.clearFaults()
  for (const { uuid } of [first, second]) {
    await until('its tag', () => ancestryOf(uuid)()?.compute[1]?.tags[0]?.name === 'z')
  }
})

t.test('one tag that cannot be read is named, the others count', async (t) => {
  const lab = await openLab(t, {
    before: async (vCenter) => {
      await vCenter.tag(
        { category: 'k8s-zone', tag: 'a', object: 'DC0_C0' },
        { category: 'k8s-region', tag: 'r', object: 'DC0_C0' },
      )
      await vCenter.fault({
        operation: 'REST GET /rest/com/vmware/cis/tagging/tag/*',
        kind: 'status',
        status: 403,
        times: 1,
      })
    },
  })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  const ancestry = await until('ancestry', () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]?.ancestry)
  t.equal(ancestry.compute[1]?.tags.length, 1)
  t.match(ancestry.unreadable, [/ClusterComputeResource DC0_C0: tag urn:.*403/])
})

for (const [name, fault] of [
  ['404', { kind: 'status', status: 404 }],
  ['403', { kind: 'status', status: 403 }],
  ['500', { kind: 'status', status: 500 }],
  ['503', { kind: 'status', status: 503 }],
  ['nothing', { kind: 'hang' }],
  ['a page', { kind: 'html' }],
] as const)
  t.test(`a category that answers ${name} hides no zone, neither at the start nor later`, async (t) => {
    let id = ''
    const lab = await openLab(t, {
      timings: { ...QUICK, resync: 300 },
      before: async (vCenter) => {
        await vCenter.tag({ ...ZONE, category: 'installer', tag: 'x' }, ZONE, REGION)
        id = await idOfCategory(vCenter, 'k8s-zone')
        const object = await idOfCategory(vCenter, 'installer')
        await vCenter.fault({ operation: CATEGORY, ...fault, object })
      },
    })
    const vm = await vmAt(lab, 0)
    lab.inventory.follow(vm.uuid)
    const ancestry = await until('ancestry', () => ancestryOf(lab, vm.uuid))
    const tagged = (tag: string) => ({
      compute: [{}, { tags: [{ category: 'k8s-zone', name: tag }] }, {}, { tags: [{ name: 'r' }] }],
      unreadable: [],
    })
    t.match(ancestry, tagged('a'))
    // With a wanted category missing, all others are asked for again.
    await lab.vCenter.govc('tags.category.update', '-n', 'former', id)
    await until('no zone', () => ancestryOf(lab, vm.uuid)?.compute[1]?.tags.length === 0)
    await lab.vCenter.govc('tags.category.update', '-n', 'k8s-zone', id)
    await until('the zone', () => ancestryOf(lab, vm.uuid)?.compute[1]?.tags.length === 1)
    t.match(ancestryOf(lab, vm.uuid), tagged('a'))
  })

t.test('tags and categories that are renamed are noticed with the next read of all tags', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, resync: 300 },
    before: (vCenter) => vCenter.tag(ZONE, REGION),
  })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  const zone = () => ancestryOf(lab, vm.uuid)?.compute[1]?.tags.map(({ name }) => name)
  await until('its zone', () => zone()?.[0] === 'a')
  t.same(lab.inventory.lackingCategories(), new Map())
  await lab.vCenter.govc('tags.update', '-n', 'b', '-c', 'k8s-zone', 'a')
  await until('its new name', () => zone()?.[0] === 'b')
  await lab.vCenter.govc('tags.category.update', '-n', 'zones', 'k8s-zone')
  await until(
    'the category is missing',
    () => ancestryOf(lab, vm.uuid)?.lacking?.get('k8s-zone') === 'category',
  )
  t.same(zone(), [])
  t.same(lab.inventory.lackingCategories(), new Map([['k8s-zone', 'category']]))
})

t.test('many categories of a slow vCenter are waited for as long as it answers', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 4_000 },
    before: async (vCenter) => {
      const others = Array.from({ length: 62 }, (_, i) => ({ ...ZONE, category: `other ${i}` }))
      // Without one for the region, all of them are looked at.
      await vCenter.tag(...others, ZONE)
      await vCenter.fault({ operation: CATEGORY, kind: 'delay', milliseconds: 600 })
    },
  })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  const ancestry = await until('ancestry', () => ancestryOf(lab, vm.uuid))
  t.match(ancestry.compute[1]?.tags, [{ category: 'k8s-zone', name: 'a' }])
  t.same(ancestry.unreadable, [])
})

t.test('an object whose tags are refused is named where it stands', async (t) => {
  const lab = await openLab(t, {
    before: async (vCenter) => {
      await vCenter.tag(ZONE, REGION)
      const [vm] = await vCenter.vms()
      const host = /HostSystem:(host-\d+)/.exec(
        await vCenter.govc('find', '-i', '/', '-name', vm?.host ?? ''),
      )?.[1]
      const operation = 'REST POST /rest/com/vmware/cis/tagging/tag-association'
      await vCenter.fault({ operation, kind: 'status', status: 403, object: host ?? '' })
    },
  })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  const ancestry = await until('ancestry', () => ancestryOf(lab, vm.uuid))
  t.match(ancestry.compute, [
    { type: 'HostSystem', tags: [], unread: [{ why: /^HostSystem DC0_C0_H0: .*403/, category: undefined }] },
    { tags: [{ name: 'a' }], unread: undefined },
  ])
})
