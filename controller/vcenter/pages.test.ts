/** Reads overlap, vCenter's pages are small, and a page's token is that of the collector's last read. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { bind } from './testing/bind.ts'
import { answered, openLab, QUICK, vmsOf } from './testing/lab.ts'

const { signal } = new AbortController()

t.test('reads that overlap leave each other their pages', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 60, hosts: 4 },
    timings: { ...QUICK, resync: 200, sweep: 200, callDeadline: 15_000 },
    before: async (vCenter) => {
      await vCenter.limitPages(7)
      await vCenter.fault({ operation: 'ContinueRetrievePropertiesEx', kind: 'delay', milliseconds: 20 })
    },
  })
  const { vCenter, inventory } = lab
  const vms = await vCenter.vms()
  for (const { uuid } of vms) inventory.follow(uuid)
  await until('all', () => vms.every(({ uuid }) => vmsOf(inventory.lookup(uuid))?.[0]?.ancestry))
  const [first] = vms
  if (first === undefined) throw new Error('no VM')
  const bound = await bind(lab, first)
  // Resync, sweep, probes, and VMs that move, all at once.
  const begun = lab.corrections.length
  let unanswered = 0
  for (let round = 0; lab.corrections.length < begun + 4; round++) {
    const probes = await Promise.all([1, 2, 3, 4].map(() => inventory.probe(bound, signal)))
    unanswered += probes.filter((probe) => probe.moref?.state !== 'found').length
    if (unanswered > 0) break
    const host = round % 2 === 0 ? 'DC0_C0_H1' : 'DC0_C0_H2'
    await vCenter.move({ vm: vms[round % vms.length]?.ref ?? '', host })
  }
  t.equal(unanswered, 0, 'probes are answered')
  t.notMatch(lab.log.join(''), /InvalidArgument|vCenter failed/)
  t.equal((await vCenter.calls()).operations.CreateListView, 1, 'one connection served all of it')
})

t.test('a token that is lost all the same costs the read, not the connection', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 30 },
    before: async (vCenter) => {
      await vCenter.limitPages(7)
      await vCenter.fault({
        operation: 'ContinueRetrievePropertiesEx',
        kind: 'fault',
        fault: 'InvalidArgument',
        after: 1,
        times: 1,
      })
    },
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  const { operations } = await lab.vCenter.calls()
  t.equal(operations.CreateListView, 1)
  t.notMatch(lab.log.join(''), /vCenter failed/)
})
