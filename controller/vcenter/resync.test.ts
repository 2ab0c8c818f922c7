/** What push does not tell is read again. */
import t from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { until } from '../../test/fixtures/until.ts'
import { answered, type Lab, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

/** Waits for a resync that begins from now on, and returns its corrections. */
async function nextResync({ corrections }: Lab): Promise<number | undefined> {
  // The one that is under way, if any, may have read all already.
  const last = corrections.length + 1
  await until('two resyncs', () => corrections.length > last)
  return corrections[last]
}

t.test('CPUs and tags', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300 } })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  await until('ancestry', () => now()?.ancestry)
  await nextResync(lab)
  const before = lab.corrections.length
  await lab.vCenter.setState({ vm: vm.ref, cpus: 8, memoryMB: 8192 })
  await until('CPUs', () => now()?.cpus === 8 && now()?.memoryMB === 8192)
  await nextResync(lab)
  t.equal(
    lab.corrections.slice(before).reduce((sum, each) => sum + each),
    1,
    'told once',
  )
  await lab.vCenter.tag({ category: 'k8s-zone', tag: 'late', object: 'DC0_C0' })
  await until('the tag', () => now()?.ancestry?.compute[1]?.tags[0]?.name === 'late')
  await lab.vCenter.tag({ category: 'k8s-zone', tag: 'late', object: 'DC0_C0', detach: true })
  await until('no tag', () => now()?.ancestry?.compute[1]?.tags.length === 0)
})

t.test('a push that is lost', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300, pollWait: 60_000 } })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  await answered(lab, vm.uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  const id = await lab.vCenter.fault({ operation: 'WaitForUpdatesEx', kind: 'hang' })
  // Its news ends the wait that goes on; the next one hears of nothing.
  await lab.vCenter.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value: 'last' })
  await until('the wait hangs', async () =>
    (await lab.vCenter.faults()).some((each) => each.id === id && each.hits > 0),
  )
  await nextResync(lab)
  const before = lab.corrections.length
  await lab.vCenter.setState({ vm: vm.ref, powerState: 'poweredOff' })
  await until('the power state', () => now()?.powerState === 'poweredOff')
  await nextResync(lab)
  t.equal(
    lab.corrections.slice(before).reduce((sum, each) => sum + each),
    1,
    'told once',
  )
  await lab.vCenter.clearFaults()
})

t.test('one page for all, and nothing to correct where all was pushed', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 200 }, timings: { ...QUICK, resync: 300 } })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  const stateOf = (uuid: string) => vmsOf(lab.inventory.lookup(uuid))?.[0]
  await until('all', () => vms.every(({ uuid }) => stateOf(uuid)?.ancestry))
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  for (const { ref, uuid } of vms.slice(0, 5)) {
    await lab.vCenter.setGuest({ vm: ref, hostName: 'n', nics: [{ addresses: ['10.1.1.1/8'] }] })
    await lab.vCenter.setState({ vm: ref, powerState: 'suspended' })
    await until('push', () => stateOf(uuid)?.powerState === 'suspended')
  }
  await lab.vCenter.resetCalls()
  const before = lab.corrections.length
  t.equal(await nextResync(lab), 0)
  const { operations } = await lab.vCenter.calls()
  const resyncs = lab.corrections.length - before
  t.ok((operations.RetrievePropertiesEx ?? 0) <= resyncs + 1, JSON.stringify(operations))
})

t.test('a running VM takes another UUID', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300 } })
  const vm = await vmAt(lab, 0)
  const changed = '42000000-0000-4000-8000-00000000000a'
  lab.inventory.follow(vm.uuid)
  lab.inventory.follow(changed)
  await answered(lab, vm.uuid)
  await answered(lab, changed, 0)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  await lab.vCenter.setState({ vm: vm.ref, uuid: changed })
  t.match(await answered(lab, changed), [{ moref: vm.ref, biosUUID: changed }])
  await answered(lab, vm.uuid, 0)
  await lab.vCenter.setState({ vm: vm.ref, uuid: vm.uuid })
  await answered(lab, vm.uuid)
  await answered(lab, changed, 0)
})

t.test('a VM that could not be read is asked for again before the next resync', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, failed: 300 } })
  const vm = await vmAt(lab, 0)
  await lab.vCenter.fault({ operation: 'FindAllByUuid', kind: 'fault', fault: 'NoPermission' })
  lab.inventory.follow(vm.uuid)
  await until('a refusal', () => lab.inventory.lookup(vm.uuid).state === 'unknown')
  await lab.vCenter.clearFaults()
  await answered(lab, vm.uuid)
  t.equal(vmsOf(lab.inventory.lookup(vm.uuid))?.[0]?.moref, vm.ref)
  t.same(lab.corrections, [], 'by itself')
})
