/** What becomes of the other facts while tags cannot be read. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

t.test('tags that cannot be read keep nothing else back', async (t) => {
  for (const status of [403, 503]) {
    const lab = await openLab(t, {
      before: (vCenter) =>
        vCenter.fault({ operation: 'REST POST /rest/com/vmware/cis/session', kind: 'status', status }),
    })
    const vm = await vmAt(lab, 0)
    lab.inventory.follow(vm.uuid)
    const ancestry = await until('ancestry', () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]?.ancestry)
    t.match(ancestry.unreadable, [new RegExp(`HTTP status ${status}`)])
    t.equal(lab.inventory.failure(), undefined)
  }
})

t.test('a tag service that hangs holds up nothing but the first, and that not for long', async (t) => {
  const session = 'REST POST /rest/com/vmware/cis/session'
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 5_000, loginDeadline: 5_000 },
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
