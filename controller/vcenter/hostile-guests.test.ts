/** What guests write about themselves is as long as they like, up to a megabyte each. */
import t from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { until } from '../../test/fixtures/until.ts'
import { NEVER, openLab, QUICK, vmsOf } from './testing/lab.ts'

t.test('a megabyte from each of many guests takes nobody down', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 66 },
    // A busy machine takes minutes for 66 MB.
    timings: { ...QUICK, callDeadline: NEVER, readDeadline: NEVER, pollGrace: NEVER, resync: 5_000 },
    before: async (vCenter) => {
      const vms = await vCenter.vms()
      for (const [i, { ref }] of vms.slice(0, 62).entries()) {
        // Escaped, the first takes six times as much. The work of the others' is by the character, of four bytes each.
        const value = i === 0 ? '"'.repeat(1 << 20) : '\u{1F600}'.repeat(1 << 18)
        await vCenter.setGuestinfo({ vm: ref, key: GUESTINFO_CLAIM, value })
      }
    },
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  const stateOf = (uuid: string) => vmsOf(lab.inventory.lookup(uuid))?.[0]
  await until('all', () => vms.every(({ uuid }) => stateOf(uuid)))
  const last = vms.at(-1)
  await lab.vCenter.setState({ vm: last?.ref ?? '', powerState: 'suspended' })
  await until('push', () => stateOf(last?.uuid ?? '')?.powerState === 'suspended')
  await until('a resync', () => lab.corrections.length > 0)
  const { operations } = await lab.vCenter.calls()
  t.equal(operations.Login, 1)
  t.equal(operations.CreateListView, 1, 'nothing began anew')
  t.equal(lab.inventory.failure(), undefined)
})
