import t from 'tap'
import { until } from '../../../test/fixtures/until.ts'
import { bind, ELSEWHERE, summary } from '../testing/bind.ts'
import { answered, openLab, QUICK, vmAt } from '../testing/lab.ts'

const { signal } = new AbortController()

const ABSENT = {
  moref: 'not-found',
  instanceUUID: 'not-found',
  biosUUID: 'not-found',
  privileges: 'proven',
  canary: 'proven',
}

t.test('a VM that exists is found by each question', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const probe = await lab.inventory.probe(await bind(lab, vm), signal)
  const seen = {
    moref: vm.ref,
    name: vm.name,
    biosUUID: vm.uuid,
    connectionState: 'connected',
    powerState: 'poweredOn',
    mayRestart: [],
  }
  t.match(probe.vCenterInstanceUUID, /^[0-9a-f-]{36}$/)
  t.same(probe, {
    vCenter: 'lab',
    server: probe.server,
    vCenterInstanceUUID: probe.vCenterInstanceUUID,
    session: 1,
    moref: { state: 'found', vm: seen },
    instanceUUID: { state: 'found', vm: seen },
    biosUUID: { state: 'found', vm: seen },
    privileges: { state: 'proven' },
    canary: { state: 'proven' },
  })
})

t.test('what may happen to a VM that is off is told', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const bound = await bind(lab, vm)
  const mayRestart = async () => {
    const { moref } = await lab.inventory.probe(bound, signal)
    return moref?.state === 'found' ? moref.vm.mayRestart : undefined
  }
  await lab.vCenter.setState({
    vm: vm.ref,
    powerState: 'poweredOff',
    dasProtected: true,
    faultToleranceState: 'running',
  })
  const migrate = { vm: vm.ref, descriptionId: 'VirtualMachine.migrate' }
  const task = await lab.vCenter.startTask(migrate)
  const another = await lab.vCenter.startTask({ ...migrate, state: 'queued' })
  t.same(await mayRestart(), [
    'its fault tolerance is in state "running"',
    'vSphere HA protects it',
    'a task "VirtualMachine.migrate" is running',
    'a task "VirtualMachine.migrate" is queued',
  ])
  await lab.vCenter.setState({ vm: vm.ref, dasProtected: false, faultToleranceState: 'notConfigured' })
  await lab.vCenter.endTask(task)
  await lab.vCenter.endTask(another, 'gone')
  t.same(await mayRestart(), [])
})

t.test('a VM that was destroyed is found by none, with all that makes this mean something', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const bound = await bind(lab, vm)
  await lab.vCenter.govc('vm.destroy', vm.name)
  await lab.vCenter.resetCalls()
  t.same(summary(await lab.inventory.probe(bound, signal)), ABSENT)
  t.match(await lab.vCenter.calls(), {
    operations: {
      FindAllByUuid: 3,
      HasPrivilegeOnEntities: 1,
      CreatePropertyCollector: 1,
      DestroyPropertyCollector: 1,
    },
  })

  const other = await vmAt(lab, 0)
  lab.inventory.follow(other.uuid)
  await answered(lab, other.uuid)
  await lab.vCenter.resetCalls()
  t.same(summary(await lab.inventory.probe(bound, signal)), ABSENT)
  const { operations } = await lab.vCenter.calls()
  t.equal(operations.CreatePropertyCollector, undefined, 'a VM that is followed serves as canary')
})

t.test('what became of a VM that is missing under its reference', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 6 } })
  const { vCenter, inventory } = lab
  const ask = async (bound: Awaited<ReturnType<typeof bind>>) => summary(await inventory.probe(bound, signal))
  const [registered, recreated, changed, moved, doubled, hidden] = await vCenter.vms()
  if (!registered || !recreated || !changed || !moved || !doubled || !hidden)
    throw new Error('the simulator has too few VMs')

  const one = await bind(lab, registered)
  await vCenter.unregister(registered.ref)
  t.same(await ask(one), ABSENT)
  const again = await vCenter.register(registered.ref)
  t.same(await ask(one), { ...ABSENT, instanceUUID: again.ref, biosUUID: again.ref }, 'registered again')

  const two = await bind(lab, recreated)
  await vCenter.recreate(recreated.ref)
  t.same(await ask(two), ABSENT, 'another VM of its name is another VM')

  const three = await bind(lab, changed)
  await vCenter.setState({ vm: changed.ref, uuid: ELSEWHERE.biosUUID })
  t.same(await ask(three), { ...ABSENT, moref: changed.ref, instanceUUID: changed.ref }, 'a new BIOS UUID')
  await vCenter.setState({ vm: changed.ref, uuid: changed.uuid })

  const four = await bind(lab, moved)
  await vCenter.govc('folder.create', '/nested')
  await vCenter.govc('datacenter.create', '-folder', '/nested', 'DC9')
  await vCenter.move({ vm: moved.ref, folder: '/nested/DC9/vm' })
  const there = { moref: moved.ref, instanceUUID: moved.ref, biosUUID: moved.ref }
  t.same(await ask(four), { ...ABSENT, ...there }, 'in a datacenter nested in a folder')

  const five = await bind(lab, doubled)
  await vCenter.setState({ vm: moved.ref, uuid: doubled.uuid })
  await vCenter.hide(doubled.ref)
  t.same(await ask(five), { ...ABSENT, biosUUID: moved.ref }, 'a copy is left')

  const six = await bind(lab, hidden)
  await vCenter.setState({ vm: hidden.ref, connectionState: 'inaccessible', uuid: '' })
  t.same(
    await ask(six),
    { ...ABSENT, moref: hidden.ref, instanceUUID: hidden.ref },
    'an inaccessible VM still has a reference',
  )
})

t.test('an account without privileges proves nothing', async (t) => {
  const lab = await openLab(t)
  const { vCenter, inventory } = lab
  const vm = await vmAt(lab, 0)
  const other = await vmAt(lab, 1)
  await vCenter.govc('folder.create', '/DC0/vm/workers')
  await vCenter.move({ vm: vm.ref, folder: '/DC0/vm/workers' })
  const bound = await bind(lab, vm, '/DC0/vm/workers')
  for (const as of ['fault', 'faultOnRoot', 'missingSet'] as const) {
    await vCenter.revoke({ as })
    const nothing = await inventory.probe(bound, signal)
    t.match(summary(nothing), {
      moref: 'NoPermission',
      biosUUID: 'not-found',
      privileges: 'PrivilegeMissing',
    })
    t.equal(nothing.canary.state, 'unproven')
    const folder = bound.parents?.[0]
    t.match(nothing.privileges, {
      failure: {
        message: `the account lacks System.View and System.Read on Folder "workers" (${folder?.moref}): give it`,
      },
    })
    await vCenter.restore()

    await vCenter.revoke({ object: '/DC0/vm/workers', as })
    t.same(summary(await inventory.probe(bound, signal)), {
      ...ABSENT,
      moref: 'NoPermission',
      privileges: 'PrivilegeMissing',
    })
    await vCenter.hide(vm.ref)
    t.same(summary(await inventory.probe(bound, signal)), { ...ABSENT, privileges: 'PrivilegeMissing' })
    await vCenter.show()
    await vCenter.restore()
  }
  // The folder's other VMs went with it, the rest is there.
  t.match(summary(await inventory.probe(await bind(lab, other), signal)), { moref: other.ref })
})

t.test('parents that are gone themselves are no obstacle, for the root is left', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const bound = await bind(lab, vm)
  const former = { type: 'Folder', moref: 'group-v999', name: 'workers' }
  const privileges = async (parents: NonNullable<typeof bound.parents>) =>
    summary(await lab.inventory.probe({ ...bound, parents }, signal)).privileges
  t.equal(await privileges([former, ...(bound.parents ?? [])]), 'proven')
  t.equal(await privileges([former]), 'proven')
  t.equal(await privileges([]), 'proven')
})

t.test('where half of the VMs vanish, those that are left are canaries; where all do, none is', async (t) => {
  // The simulator forgets to push what leaves while the watched list changes.
  const lab = await openLab(t, { simulator: { vms: 4 }, timings: { ...QUICK, resync: 500 } })
  const { vCenter, inventory } = lab
  const vms = await vCenter.vms()
  for (const { uuid } of vms) inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  const [first, second, third, fourth] = vms
  if (!first || !second || !third || !fourth) throw new Error('the simulator has too few VMs')
  const bound = await bind(lab, first)
  await vCenter.hide(first.ref, second.ref)
  for (const { uuid } of [first, second]) await answered(lab, uuid, 0)
  t.same(summary(await inventory.probe(bound, signal)), ABSENT)
  await vCenter.hide(third.ref, fourth.ref)
  t.same(summary(await inventory.probe(bound, signal)), { ...ABSENT, canary: 'CanaryNotFound' })
  for (const { uuid } of [third, fourth]) await answered(lab, uuid, 0)
  t.same(summary(await inventory.probe(bound, signal)), { ...ABSENT, canary: 'none' })
  await vCenter.show()
  t.match(summary(await inventory.probe(bound, signal)), { moref: first.ref, canary: 'proven' })
})

t.test('another vCenter is only searched', async (t) => {
  const lab = await openLab(t)
  await until('a session', () => lab.inventory.connected())
  const probe = await lab.inventory.probe(ELSEWHERE, signal)
  t.same(summary(probe), { ...ABSENT, moref: undefined })
  const vm = await vmAt(lab, 0)
  // The same reference means another VM here.
  const twin = await lab.inventory.probe({ ...ELSEWHERE, moref: vm.ref, biosUUID: vm.uuid }, signal)
  t.match(summary(twin), { moref: undefined, instanceUUID: 'not-found', biosUUID: vm.ref })
  const empty = await openLab(t, { simulator: { vms: 0, seed: 'other' }, timings: QUICK })
  await until('a session', () => empty.inventory.connected())
  t.equal(summary(await empty.inventory.probe(ELSEWHERE, signal)).canary, 'none')
})
