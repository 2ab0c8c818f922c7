/** vCenters that no longer serve what older ones did. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const ZONE = { category: 'k8s-zone', tag: 'z1', object: 'DC0_C0' }

t.test('a vCenter that refuses our version of its API is spoken to in one that it serves', async (t) => {
  const lab = await openLab(t, {
    before: (vCenter) => vCenter.setGeneration({ apiVersions: ['9.0.0.0', '8.0.3.0', '8.0.2.0'] }),
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  const { operations } = await lab.vCenter.calls()
  // The client of probes may have logged in by now, or not.
  const { 'REST GET /sdk/vimServiceVersions.xml': asked = 0 } = operations
  t.ok(asked === 1 || asked === 2, `asked ${asked} times, once by each client`)
  t.equal(lab.inventory.failure(), undefined)
})

t.test('a vCenter without a version that it names: its own words are told', async (t) => {
  const lab = await openLab(t, {
    before: async (vCenter) => {
      await vCenter.setGeneration({ apiVersions: ['9.0.0.0'] })
      await vCenter.fault({ operation: 'REST GET /sdk/vimServiceVersions.xml', kind: 'status', status: 404 })
    },
  })
  const failure = await until('a failure', () => lab.inventory.failure())
  t.match(failure, { reason: 'UnexpectedFault', message: /VersionMismatch: Unsupported version URI/ })
})

t.test('tags come by /api where /rest is gone', async (t) => {
  const lab = await openLab(t, {
    before: async (vCenter) => {
      await vCenter.tag(ZONE)
      await vCenter.setGeneration({ restGone: true })
    },
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  const zone = () =>
    vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry?.compute.find(({ tags }) => tags.length > 0)
  t.match(await until('the tag', zone), { tags: [{ category: 'k8s-zone', name: 'z1' }] })
  const { operations } = await lab.vCenter.calls()
  t.match(operations, { 'REST POST /rest/com/vmware/cis/session': 1, 'REST POST /api/session': 1 })
  await lab.stop()
  t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 }, 'logged out')
})

t.test('a vCenter that is upgraded while it is followed', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300 }, before: (vCenter) => vCenter.tag(ZONE) })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  const zones = () =>
    vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry?.compute.flatMap(({ tags }) =>
      tags.map(({ name }) => name),
    )
  await until('the tag', () => zones()?.includes('z1'))
  await lab.vCenter.setGeneration({ restGone: true, apiVersions: ['9.0.0.0', '8.0.3.0'] })
  await lab.vCenter.endSessions()
  await lab.vCenter.tag({ ...ZONE, tag: 'z2' })
  await until('the new tag', () => zones()?.includes('z2'))
  t.equal(lab.inventory.failure(), undefined)
})

t.test('an administrator finds us in the list of sessions', async (t) => {
  const lab = await openLab(t)
  await until('a session', () => lab.inventory.connected())
  t.match(await lab.vCenter.govc('session.ls'), /rollcall-controller\/test/)
})
