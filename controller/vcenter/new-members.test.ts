/** The first seconds of a VM: what happens to it is seen as quickly as for any other. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'
import { TIMINGS } from './timings.ts'

/** Nothing is read again but what push is to tell. */
const PUSH_ALONE = { ...QUICK, enter: NEVER, failed: NEVER, resync: NEVER, sweep: NEVER }

t.test('a VM is watched as soon as it is found, and so is each that follows', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 6 },
    // So few do not delay each other.
    timings: { ...PUSH_ALONE, members: { ...TIMINGS.members, spacing: NEVER } },
  })
  for (const index of [0, 1, 2, 3, 4, 5]) {
    const { ref, uuid } = await vmAt(lab, index)
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    await until('it is on the list', async () => (await lab.vCenter.watchedVMs()).vms.includes(ref))
    await lab.vCenter.setState({ vm: ref, powerState: 'poweredOff' })
    const state = () => vmsOf(lab.inventory.lookup(uuid))?.[0]?.powerState
    await until('it is off', () => state() === 'poweredOff')
  }
})

t.test('one that is destroyed before it is watched is missed at once', async (t) => {
  const members = { quiet: NEVER, max: NEVER, spacing: 0 }
  const lab = await openLab(t, { timings: { ...PUSH_ALONE, members } })
  const vm = await vmAt(lab, 0)
  // Of a VM that vCenter has not told of yet, it tells nothing when it goes.
  await until('all are told', async () => ((await lab.vCenter.calls()).operations.WaitForUpdatesEx ?? 0) > 1)
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await lab.vCenter.destroy(vm.ref)
  await answered(lab, vm.uuid, 0)
  t.notOk((await lab.vCenter.watchedVMs()).vms.includes(vm.ref))
})
