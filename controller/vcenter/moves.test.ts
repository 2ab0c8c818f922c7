/** A host is pushed; what changes with it is read. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

t.test(
  'a VM that moves takes its folder, resource pool and datacenter along, without a resync',
  async (t) => {
    const lab = await openLab(t, {
      simulator: { dcs: 2, clusters: 2, vms: 8 },
      timings: { ...QUICK, pollWait: 60_000 },
    })
    const vms = (await lab.vCenter.vms()).filter(({ datacenter }) => datacenter === 'DC0')
    const [mover, neighbor] = vms
    if (mover === undefined || neighbor === undefined) throw new Error('the simulator has too few VMs')
    // All hosts and clusters are known before anything moves.
    const all = await lab.vCenter.vms()
    for (const { uuid } of all) lab.inventory.follow(uuid)
    const now = (uuid: string) => vmsOf(lab.inventory.lookup(uuid))?.[0]
    await until('all', () => all.every(({ uuid }) => now(uuid)?.ancestry))
    await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
    t.equal(now(mover.uuid)?.datacenter, 'DC0')
    const pool = now(mover.uuid)?.ancestry?.resourcePool[0]?.moref
    await lab.vCenter.resetCalls()

    await lab.vCenter.move({ vm: mover.ref, folder: '/DC1/vm', host: 'DC1_C1_H0' })
    await until('the datacenter', () => now(mover.uuid)?.datacenter === 'DC1')
    const { folder = [], resourcePool = [], compute = [] } = now(mover.uuid)?.ancestry ?? {}
    t.same(
      folder.map(({ name }) => name),
      [mover.name, 'vm', 'DC1', 'Datacenters'],
    )
    t.match(compute, [{ name: 'DC1_C1_H0' }, { name: 'DC1_C1' }])
    t.match(resourcePool, [{ type: 'ResourcePool' }])
    t.not(resourcePool[0]?.moref, pool)
    t.equal(now(neighbor.uuid)?.datacenter, 'DC0')
    const { operations } = await lab.vCenter.calls()
    t.ok((operations.RetrievePropertiesEx ?? 0) <= 2, JSON.stringify(operations))
    t.equal(operations.FindAllByUuid, undefined, 'nobody doubts which VM it is')
  },
)

t.test('vMotion within a cluster', async (t) => {
  const lab = await openLab(t, { simulator: { hosts: 3 }, timings: { ...QUICK, pollWait: 60_000 } })
  const vm = await vmAt(lab, 0)
  const host = vm.host === 'DC0_C0_H2' ? 'DC0_C0_H1' : 'DC0_C0_H2'
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  await lab.vCenter.move({ vm: vm.ref, host })
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  await until('the host', () => now()?.host === host && now()?.ancestry?.compute[0]?.name === host)
  t.equal(now()?.cluster, 'DC0_C0')
})

t.test('when one VM is lost, all are read again: push may not have told of the others', async (t) => {
  const lab = await openLab(t, {
    simulator: { clusters: 2, vms: 6 },
    timings: { ...QUICK, pollWait: 60_000, lost: { quiet: 50, max: 100, spacing: 100 } },
  })
  const all = await lab.vCenter.vms()
  const [mover, hidden, kept] = all
  if (mover === undefined || hidden === undefined || kept === undefined)
    throw new Error('the simulator has too few VMs')
  for (const { uuid } of all) lab.inventory.follow(uuid)
  await until('all', () => all.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry))
  // One that is hidden before vCenter watches it is refused, and seen by a resync alone: so each shows first that it is
  // watched.
  for (const { ref, uuid, host } of [mover, hidden]) {
    const other = host.replace(/_H\d$/, host.endsWith('_H0') ? '_H1' : '_H0')
    await lab.vCenter.move({ vm: ref, host: other })
    await until('watched', () => vmsOf(lab.inventory.lookup(uuid))?.[0]?.host === other)
  }
  await lab.vCenter.hide(mover.ref, hidden.ref)
  // Its host is pushed, so that it is read again, and found to be gone.
  await lab.vCenter.move({ vm: mover.ref, host: mover.host.startsWith('DC0_C0') ? 'DC0_C1_H0' : 'DC0_C0_H0' })
  for (const { uuid } of [mover, hidden]) {
    await until('gone, and known not to have gone alone', () => {
      const lookup = lab.inventory.lookup(uuid)
      return lookup.state === 'answered' && lookup.vms.length === 0 && lookup.othersUnread === undefined
    })
  }
  t.equal(vmsOf(lab.inventory.lookup(kept.uuid))?.length, 1)
})
