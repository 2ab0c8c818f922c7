/** Whether an absence could be proven is known while the VMs are there, at a cost that does not grow with them. */
import t from 'tap'
import { until } from '../../../test/fixtures/until.ts'
import { bindingParents } from '../../types/virtual-machine.ts'
import { bind, ELSEWHERE } from '../testing/bind.ts'
import { answered, openLab, QUICK, vmAt, vmsOf } from '../testing/lab.ts'

const { signal } = new AbortController()
const former = { type: 'Folder', moref: 'group-v999', name: 'former' }

t.test('the root and what is above the VMs is asked for in one call, however many there are', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 12 }, config: {}, categories: {} })
  const { vCenter, inventory } = lab
  t.equal(inventory.provable([]), undefined, 'nothing was asked yet')
  const vms = await vCenter.vms()
  for (const { uuid } of vms) inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  const [first] = vms
  if (first === undefined) throw new Error('the simulator has no VM')
  const { parents = [] } = await bind(lab, first)
  await until('an answer', () => inventory.provable(parents)?.state === 'proven')
  t.same(inventory.provableEverywhere(), { state: 'proven' })
  t.equal(inventory.provable([...parents, former]), undefined, 'of that one it is not known')
  const { operations } = await vCenter.calls()
  t.ok((operations.HasPrivilegeOnEntities ?? 0) <= 2, 'once for the root, once with what came above the VMs')
})

t.test('what is lacking is told with its object, and that it is there again', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, resync: 300 },
    categories: {},
    before: (vCenter) => vCenter.revoke({ object: '/', alone: true }),
  })
  const { vCenter, inventory, changes } = lab
  const vm = await vmAt(lab, 0)
  inventory.follow(vm.uuid)
  const [seen] = await answered(lab, vm.uuid)
  const parents = seen?.ancestry === undefined ? [] : bindingParents(seen.ancestry)
  const failure = {
    vCenter: 'lab',
    reason: 'PrivilegeMissing',
    message:
      /lacks System\.View and System\.Read on the root folder \(group-d1\): give it the role Read-only/,
  }
  await until('an answer', () => inventory.provable(parents)?.state === 'unproven')
  t.match(inventory.provable(parents), { failure })
  t.match(inventory.provableEverywhere(), { failure })
  t.match(await inventory.probe(ELSEWHERE, signal), {
    privileges: { state: 'unproven', failure },
  })
  const told = changes.length
  await vCenter.restore('/')
  await until('another answer', () => inventory.provable(parents)?.state === 'proven')
  t.ok(
    changes.slice(told).some((uuids) => uuids.has(vm.uuid)),
    'whoever follows it is told',
  )
  const before = changes.length
  await vCenter.resetCalls()
  await until('the next', async () => ((await vCenter.calls()).operations.HasPrivilegeOnEntities ?? 0) > 1)
  t.equal(changes.length, before, 'what stays as it is is told to nobody')
})

t.test('what is asked for the first time is told as well', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300 }, categories: {} })
  const { vCenter, inventory, changes } = lab
  await until('an answer of the root', () => inventory.provable([])?.state === 'proven')
  // Until then what stands above the VM is not asked, as after a time in which its role had no propagation.
  await vCenter.fault({ operation: 'HasPrivilegeOnEntities', kind: 'status', status: 503 })
  const vm = await vmAt(lab, 0)
  inventory.follow(vm.uuid)
  const ancestry = await until('the VM', () => vmsOf(inventory.lookup(vm.uuid))?.[0]?.ancestry)
  const parents = bindingParents(ancestry)
  await until('questions', async () => ((await vCenter.faults())[0]?.hits ?? 0) > 1)
  t.equal(inventory.provable(parents), undefined, 'not known yet')
  const told = changes.length
  await vCenter.clearFaults()
  await until('an answer', () => inventory.provable(parents)?.state === 'proven')
  t.ok(
    changes.slice(told).some((uuids) => uuids.has(vm.uuid)),
    'whoever follows it is told',
  )
})

t.test('an object above one VM that is asked for the first time is told to nobody else', async (t) => {
  const lab = await openLab(t, { categories: {} })
  const { vCenter, inventory, changes } = lab
  const [vm, other] = [await vmAt(lab, 0), await vmAt(lab, 1)]
  inventory.follow(other.uuid)
  const [seen] = await answered(lab, other.uuid)
  const above = seen?.ancestry === undefined ? [] : bindingParents(seen.ancestry)
  await until('an answer', () => inventory.provable(above)?.state === 'proven')
  await vCenter.govc('folder.create', '/DC0/vm/workers')
  await vCenter.move({ vm: vm.ref, folder: '/DC0/vm/workers' })
  const within = (await bind(lab, vm, '/DC0/vm/workers')).parents ?? []
  const told = changes.length
  inventory.follow(vm.uuid)
  await until('an answer', () => inventory.provable(within)?.state === 'proven')
  const since = changes.slice(told)
  t.ok(since.some((uuids) => uuids.has(vm.uuid)))
  t.notOk(since.some((uuids) => uuids.has(other.uuid)))
})

t.test('one folder that may not be read says nothing of the others', async (t) => {
  const lab = await openLab(t, { categories: {} })
  const { vCenter, inventory } = lab
  const [vm, other] = [await vmAt(lab, 0), await vmAt(lab, 1)]
  await vCenter.govc('folder.create', '/DC0/vm/workers')
  await vCenter.move({ vm: vm.ref, folder: '/DC0/vm/workers' })
  const within = (await bind(lab, vm, '/DC0/vm/workers')).parents ?? []
  const without = (await bind(lab, other)).parents ?? []
  await vCenter.revoke({ object: '/DC0/vm/workers', alone: true })
  for (const { uuid } of [vm, other]) inventory.follow(uuid)
  for (const { uuid } of [vm, other]) await answered(lab, uuid)
  await until('an answer', () => inventory.provable(within)?.state === 'unproven')
  t.match(inventory.provable(within), { failure: { message: /System\.Read on Folder "group-\d+"/ } })
  t.same(inventory.provable(without), { state: 'proven' })
  t.match(inventory.provableEverywhere(), { failure: { message: /on Folder "group-\d+"/ } })
})

t.test('an answer that does not come changes nothing', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300 }, categories: {} })
  const { vCenter, inventory } = lab
  await until('an answer', () => inventory.provable([])?.state === 'proven')
  await vCenter.fault({ operation: 'HasPrivilegeOnEntities', kind: 'status', status: 503 })
  await until('questions', async () => ((await vCenter.faults())[0]?.hits ?? 0) > 1)
  t.same(inventory.provable([]), { state: 'proven' })
})
