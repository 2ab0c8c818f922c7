/** VMs for which vCenter refuses a whole read by a fault. */
import t, { type Test } from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, vmsOf } from './testing/lab.ts'

/** Seldom enough that all refusals are found in between: a resync puts each VM in doubt that it does not see. */
const TIMINGS = { ...QUICK, failed: 400, resync: 15_000 }

async function setUp(t: Test, count: number) {
  const lab = await openLab(t, { simulator: { vms: count }, timings: TIMINGS })
  const { vCenter, inventory, log } = lab
  const vms = await vCenter.vms()
  await vCenter.govc('folder.create', '/DC0/vm/workers')
  const inFolder = async (some: typeof vms) => {
    for (const { ref } of some) await vCenter.move({ vm: ref, folder: '/DC0/vm/workers' })
  }
  for (const { uuid } of vms) inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  await until('watching', async () => ((await vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  const failures = () => log.filter((line) => line.includes('vCenter failed'))
  /** Waits for what `wanted` says, during which none of the VMs may be said not to be there. */
  const see = (wanted: string, state: (uuid: string) => string) =>
    until(wanted, () => {
      const lookups = vms.map(({ uuid }) => [uuid, inventory.lookup(uuid)] as const)
      for (const [uuid, lookup] of lookups) {
        if (vmsOf(lookup)?.length === 0) throw new Error(`${uuid} is said not to be there`)
      }
      return lookups.every(([uuid, lookup]) => lookup.state === state(uuid))
    })
  const refusalOf = (uuid: string) => {
    const lookup = inventory.lookup(uuid)
    return lookup.state === 'unknown' ? lookup : undefined
  }
  return { vCenter, inventory, vms, inFolder, failures, see, refusalOf }
}

for (const as of ['fault', 'faultOnRoot'] as const) {
  const names = as === 'fault' ? 'the VM' : 'the root folder'
  t.test(`12 of 20 VMs that may not be read, where the fault names ${names}`, async (t) => {
    const { vCenter, inventory, vms, inFolder, failures, see, refusalOf } = await setUp(t, 20)
    const refused = vms.slice(4, 16)
    await inFolder(refused)
    await vCenter.revoke({ object: 'workers', as })
    const isRefused = (uuid: string) => refused.some((vm) => vm.uuid === uuid)
    const state = (uuid: string) => (isRefused(uuid) ? 'unknown' : 'answered')
    await see('the refusals', state)
    for (const { uuid, name, ref } of refused) {
      t.match(refusalOf(uuid), {
        alone: true,
        failure: {
          reason: 'NoPermission',
          message: `the account is not allowed to read anything of the VM "${name}" (${ref}) without the privilege System.Read; give it the role`,
        },
      })
    }
    t.same(failures(), [], 'vCenter itself is well')
    const [other] = vms
    await vCenter.setState({ vm: other?.ref ?? '', powerState: 'poweredOff' })
    await until('the others are followed', () => {
      return vmsOf(inventory.lookup(other?.uuid ?? ''))?.[0]?.powerState === 'poweredOff'
    })

    await vCenter.endSessions()
    await until('another session', () => failures().length > 0 && inventory.failure() === undefined)
    await see('the same in another session', state)
    t.equal(failures().length, 1, 'the end of the session')

    await vCenter.restore()
    await see('all', () => 'answered')
    t.equal(failures().length, 1)
  })

  t.test(`all VMs that may not be read, where the fault names ${names}`, async (t) => {
    const { vCenter, vms, failures, see, refusalOf } = await setUp(t, 20)
    await vCenter.revoke({ as })
    await see('the refusals', () => 'unknown')
    for (const { uuid, name } of vms) {
      t.match(refusalOf(uuid)?.failure, { reason: 'NoPermission', message: `of the VM "${name}"` })
    }
    t.same(failures(), [])
    await vCenter.restore()
    await see('all', () => 'answered')
  })
}

t.test('one VM that may not be read, where the fault names the root folder', async (t) => {
  const { vCenter, vms, failures, see, refusalOf } = await setUp(t, 3)
  const [refused] = vms
  await vCenter.revoke({ object: refused?.ref ?? '', as: 'faultOnRoot' })
  await see('the refusal', (uuid) => (uuid === refused?.uuid ? 'unknown' : 'answered'))
  t.match(refusalOf(refused?.uuid ?? ''), { alone: true, failure: { reason: 'NoPermission' } })
  t.same(failures(), [])
})
