/** Updates in the forms in which vCenter may tell of them. */
import t, { type Test } from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { until } from '../../test/fixtures/until.ts'
import type { ToldChange } from '../../test/servers/vcsim-scenes.ts'
import { answered, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const CLAIM = `config.extraConfig["${GUESTINFO_CLAIM}"]`

/** One VM that is watched, and no resync that could correct what was heard. */
async function setUp(t: Test) {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 3_600_000 } })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  // When it enters, vCenter tells all of it, which would undo what was told before.
  await lab.vCenter.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value: 'entered' })
  await until('it has entered', () => now()?.claim === 'entered')
  const tell = (...changes: ToldChange[]) => lab.vCenter.tell(vm.ref, ...changes)
  return { lab, vm, now, tell }
}

t.test('a claim is assigned, added and removed, by its key and by that of its value', async (t) => {
  const { now, tell } = await setUp(t)
  const claim = (text: string | undefined) => until(`the claim ${text}`, () => now()?.claim === text)
  await tell({ name: CLAIM, op: 'add', value: 'one' })
  await claim('one')
  await tell({ name: CLAIM, op: 'remove', value: 'one' })
  await claim(undefined)
  await tell({ name: `${CLAIM}.value`, op: 'assign', value: 'two' })
  await claim('two')
  await tell({ name: CLAIM, op: 'indirectRemove' })
  await claim(undefined)
  await tell({ name: CLAIM, op: 'assign', value: 'three' })
  await claim('three')
  await tell({ name: CLAIM, op: 'assign' })
  await claim(undefined)
})

t.test('what is told of a path that is not known makes the VM read again', async (t) => {
  const { lab, vm, now, tell } = await setUp(t)
  await tell({ name: 'runtime.powerState', op: 'assign', value: 'suspended' })
  await until('what was told', () => now()?.powerState === 'suspended')
  // Nothing but a read can tell that it runs.
  await tell({ name: 'runtime', op: 'assign' })
  await until('what is so', () => now()?.powerState === 'poweredOn')
  await tell({ name: 'runtime.powerState', op: 'assign', value: 'suspended' })
  await until('what was told', () => now()?.powerState === 'suspended')
  await tell({ name: 'guest.net', op: 'add', value: 'a part of a list' })
  await until('what is so', () => now()?.powerState === 'poweredOn')
  t.equal(lab.inventory.failure(), undefined)
  t.equal(now()?.moref, vm.ref)
})

t.test('a VM that something contradicts is read again, and told of though nothing has changed', async (t) => {
  const { lab, vm, now, tell } = await setUp(t)
  await tell({ name: 'runtime.powerState', op: 'assign', value: 'suspended' })
  await until('what was told', () => now()?.powerState === 'suspended')
  const readSince = (doubt: string) => lab.inventory.readSince(vm.ref, doubt, 'worker-1')
  t.equal(readSince('another NIC'), false)
  await until('it was read', () => readSince('another NIC') === true)
  t.equal(now()?.powerState, 'poweredOn', 'as it is')
  lab.changes.length = 0
  t.equal(readSince('one more NIC'), false)
  await until('it was read', () => readSince('one more NIC') === true)
  t.ok(lab.changes.some((uuids) => uuids.has(vm.uuid)))
})

t.test('many enter in small pages, with something said of each property that is not set', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 50 },
    timings: { ...QUICK, resync: 3_600_000 },
    before: (vCenter) => vCenter.limitPages(7),
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  await until('all', () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.length === 1))
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  for (const { ref, uuid } of vms.slice(-3)) {
    await lab.vCenter.setState({ vm: ref, powerState: 'suspended' })
    await until('push', () => vmsOf(lab.inventory.lookup(uuid))?.[0]?.powerState === 'suspended')
  }
  t.equal((await lab.vCenter.calls()).operations.CreateListView, 1)
})
