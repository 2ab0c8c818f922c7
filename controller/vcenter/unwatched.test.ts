/** VMs of which vCenter refuses to put them on the list that is watched. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, type Lab, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

/** Connecting anew reads all again, so that a vCenter may look well between two failures. */
const failures = ({ log }: Lab) => log.filter((line) => line.includes('vCenter failed'))

const TIMINGS = { ...QUICK, resync: 400 }

for (const nameRoot of [false, true]) {
  const named = nameRoot ? 'the root folder' : 'the VM'
  t.test(`one VM that may not be watched, where the fault names ${named}`, async (t) => {
    let refused = ''
    const lab = await openLab(t, {
      simulator: { vms: 12 },
      timings: TIMINGS,
      before: async (vCenter) => {
        refused = (await vCenter.vms())[7]?.ref ?? ''
        await vCenter.refuseViews({ vms: [refused], nameRoot })
      },
    })
    const vms = await lab.vCenter.vms()
    const stateOf = (uuid = '') => vmsOf(lab.inventory.lookup(uuid))?.[0]?.powerState
    for (const { uuid } of vms) lab.inventory.follow(uuid)
    for (const { uuid } of vms) await answered(lab, uuid)
    await until('it is told', () => lab.unwatched.at(-1) === 1)
    const other = vms[3]
    await lab.vCenter.setState({ vm: other?.ref ?? '', powerState: 'poweredOff' })
    await until('the others are watched', () => stateOf(other?.uuid) === 'poweredOff')
    const { uuid = '' } = vms[7] ?? {}
    await lab.vCenter.setState({ vm: refused, powerState: 'suspended' })
    await until('it is read again', () => stateOf(uuid) === 'suspended')
    t.same(failures(lab), [], 'vCenter itself is well')
    t.match(
      lab.log.find((line) => line.includes('pushes no changes of some VMs')),
      new RegExp(`"vms":\\["${vms[7]?.name}"\\],"count":1,.*Read-only`),
    )

    await lab.vCenter.refuseViews({ vms: [] })
    await until('it is tried again', () => lab.unwatched.at(-1) === 0)
    t.equal(lab.log.filter((line) => line.includes('pushes no changes of some VMs')).length, 1, 'said once')
    t.equal((await lab.vCenter.calls()).operations.Login, 1)
  })
}

t.test('one that the list calls gone, though reads show it', async (t) => {
  let refused = ''
  const lab = await openLab(t, {
    timings: TIMINGS,
    before: async (vCenter) => {
      refused = (await vCenter.vms())[0]?.ref ?? ''
      await vCenter.refuseViews({ vms: [refused], gone: true, nameRoot: true })
    },
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  await until('it is told', () => lab.unwatched.at(-1) === 1)
  await lab.vCenter.resetCalls()
  await lab.vCenter.setState({ vm: refused, powerState: 'poweredOff' })
  const state = () => vmsOf(lab.inventory.lookup(vms[0]?.uuid ?? ''))?.[0]?.powerState
  await until('it is read again', () => state() === 'poweredOff')
  t.same(failures(lab), [])
})

t.test('privileges that are lost while a VM is watched', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 6 }, timings: TIMINGS })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  const [lost, kept] = vms
  await lab.vCenter.revoke({ object: lost?.ref ?? '' })
  await until('it is refused', () => lab.inventory.lookup(lost?.uuid ?? '').state === 'unknown')
  // Taking it off the list is refused as well.
  lab.inventory.unfollow(lost?.uuid ?? '')
  lab.inventory.unfollow(vms[5]?.uuid ?? '')
  await until(
    'the list has changed',
    async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 2,
  )
  await lab.vCenter.setState({ vm: kept?.ref ?? '', powerState: 'poweredOff' })
  await until('the others are watched', () => {
    return vmsOf(lab.inventory.lookup(kept?.uuid ?? ''))?.[0]?.powerState === 'poweredOff'
  })
  t.same(failures(lab), [])
  t.equal((await lab.vCenter.calls()).operations.Login, 1)
})

t.test('one that is destroyed after it came on the list and before the next poll', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, pollWait: 1_000, enter: 500, failed: NEVER, resync: NEVER, sweep: NEVER },
  })
  const vm = await vmAt(lab, 0)
  const delay = { operation: 'WaitForUpdatesEx', kind: 'delay', milliseconds: 4_000, times: 1 } as const
  await lab.vCenter.fault(delay)
  await until('a poll is late', async () => (await lab.vCenter.faults()).some(({ hits }) => hits === 1))
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await until(
    'it is on the list',
    async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0,
  )
  await lab.vCenter.hide(vm.ref)
  await answered(lab, vm.uuid, 0)
})
