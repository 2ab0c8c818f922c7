/** A session that ends takes its views with it, and reads that start there may look empty. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, told, vmsOf } from './testing/lab.ts'

/** Nobody else asks whether the session lives. */
const UNDISTURBED = { ...QUICK, doubt: 600_000 }

t.test('a sweep that finds nothing in a session that has ended is no answer', async (t) => {
  // So many that they are not searched for singly.
  const lab = await openLab(t, {
    simulator: { vms: 20 },
    timings: UNDISTURBED,
    before: (vCenter) => vCenter.loseView('ContainerView'),
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  const empty = () => vms.filter(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.length === 0)
  await until('all', () => {
    if (empty().length > 0) throw new Error('VMs are said not to be there')
    return vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.length === 1)
  })
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
})

t.test('nor is the rest of one', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 20 },
    timings: UNDISTURBED,
    before: async (vCenter) => {
      await vCenter.limitPages(7)
      await vCenter.loseView('ContainerView', 1)
    },
  })
  // None of the first page: a VM that is found is read, and that fails in a session that has ended.
  const vms = (await lab.vCenter.vms()).slice(-13)
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) {
    await until('an answer', () => lab.inventory.lookup(uuid).state === 'answered')
    t.equal(vmsOf(lab.inventory.lookup(uuid))?.length, 1)
  }
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
})

t.test('a resync that finds nothing in a session that has ended takes nothing away', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 20 }, timings: { ...UNDISTURBED, resync: 500 } })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  await told(lab, ...vms.map(({ uuid }) => uuid))
  await until('resyncs', () => lab.corrections.length > 1)
  const before = lab.changes.length
  // All hosts and folders stand in the first page: one that is missing is read, and that fails.
  await lab.vCenter.limitPages(20)
  await lab.vCenter.loseView('ListView', 1)
  await until('another session', async () => (await lab.vCenter.calls()).operations.Login === 2)
  const done = lab.corrections.length
  await until('resyncs', () => lab.corrections.length > done)
  t.equal(lab.changes.length, before, 'nobody noticed')
})

t.test('a vCenter that is empty is believed', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 10 } })
  const vms = await lab.vCenter.vms()
  await until('a session', () => lab.inventory.connected())
  await lab.vCenter.hide(...vms.map(({ ref }) => ref))
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid, 0)
  t.equal((await lab.vCenter.calls()).operations.Login, 1)
})
