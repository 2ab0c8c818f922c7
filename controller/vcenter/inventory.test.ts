import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { until } from '../../test/fixtures/until.ts'
import { isKnown } from '../types/inventory.ts'
import { answered, type Lab, NEVER, openLab, QUICK, told, vmAt, vmsOf } from './testing/lab.ts'
import { TIMINGS } from './timings.ts'

/** Waits until no call begins for so many milliseconds; calls are counted from then on. */
async function quiet({ vCenter }: Lab, ms: number): Promise<void> {
  await until(`no call begins for ${ms} ms`, async () => {
    await vCenter.resetCalls()
    await sleep(ms)
    return (await vCenter.calls()).total === 0
  })
}

t.test('all facts of a VM, its ancestors nearest first, and their tags', async (t) => {
  const lab = await openLab(t, {
    before: async (vCenter) => {
      const [vm] = await vCenter.vms()
      await vCenter.setGuest({
        vm: vm?.ref ?? '',
        hostName: 'n1',
        nics: [{ addresses: ['10.0.0.5/24', 'fd00::5/64'] }],
      })
      await vCenter.tag(
        { category: 'k8s-zone', tag: 'zone-a', object: 'DC0_C0' },
        { category: 'k8s-region', tag: 'region-1', object: 'DC0' },
        { category: 'k8s-zone', tag: 'own', object: vm?.ref ?? '' },
        { category: 'backup', tag: 'daily', object: 'DC0_C0' },
      )
    },
  })
  const first = await vmAt(lab, 0)
  lab.inventory.follow(first.uuid)
  t.same(lab.inventory.lookup(first.uuid), { state: 'pending' })
  const vm = await until('ancestry', () =>
    vmsOf(lab.inventory.lookup(first.uuid))?.find((each) => each.ancestry),
  )
  t.match(vm, {
    vCenter: { name: 'lab', instanceUUID: /^[0-9a-f-]{36}$/ },
    moref: first.ref,
    name: first.name,
    biosUUID: first.uuid,
    instanceUUID: first.instanceUuid,
    template: false,
    connectionState: 'connected',
    powerState: 'poweredOn',
    cpus: 2,
    memoryMB: 4096,
    guestID: 'ubuntu64Guest',
    nics: [{ mac: first.vnics[0]?.mac }],
    guestNICs: [
      {
        mac: first.vnics[0]?.mac,
        deviceConfigID: first.vnics[0]?.key,
        addresses: [
          { address: '10.0.0.5', prefixLength: 24 },
          { address: 'fd00::5', prefixLength: 64 },
        ],
      },
    ],
    claim: undefined,
    host: first.host,
    cluster: 'DC0_C0',
    datacenter: 'DC0',
  })
  const summary = (path: 'compute' | 'resourcePool' | 'folder') =>
    vm.ancestry?.[path].map((each) =>
      [each.type, each.name, ...each.tags.map((tag) => `${tag.category}=${tag.name}`)].join(' '),
    )
  const top = ['Datacenter DC0 k8s-region=region-1', 'Folder Datacenters']
  t.same(summary('compute'), [
    `HostSystem ${first.host}`,
    'ClusterComputeResource DC0_C0 k8s-zone=zone-a',
    'Folder host',
    ...top,
  ])
  t.same(summary('resourcePool'), [
    'ResourcePool Resources',
    'ClusterComputeResource DC0_C0 k8s-zone=zone-a',
    'Folder host',
    ...top,
  ])
  t.same(summary('folder'), [`VirtualMachine ${first.name} k8s-zone=own`, 'Folder vm', ...top])
  t.same(vm.ancestry?.unreadable, [])
  t.ok(lab.changes.every((uuids) => uuids.has(first.uuid)))

  await lab.stop()
  t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 }, 'both sessions are ended')
})

t.test(
  'a lone UUID is answered at once, and soon known with its tags, however young the session',
  async (t) => {
    // Whoever had to wait for the next look would wait until the whole file is given up.
    const { locate, tags } = TIMINGS
    const timings = { ...TIMINGS, locate: { ...locate, spacing: NEVER }, tags: { ...tags, spacing: NEVER } }
    const lab = await openLab(t, { timings })
    const vm = await vmAt(lab, 0)
    await until('a session', () => lab.inventory.connected())
    // The first look for tags finds none to read.
    await sleep(300)
    lab.inventory.follow(vm.uuid)
    t.equal(isKnown(lab.inventory.lookup(vm.uuid)), false)
    await answered(lab, vm.uuid)
    await until('ancestry', () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]?.ancestry)
    t.equal(isKnown(lab.inventory.lookup(vm.uuid)), true, 'its tags are known too')
    t.equal((await lab.vCenter.calls()).operations.FindAllByUuid, 1)
    t.equal((await lab.vCenter.calls()).operations.FindByUuid, undefined)
  },
)

t.test('changes are pushed', async (t) => {
  // Neither a poll that ends nor a resync brings them.
  const lab = await openLab(t, { timings: { ...QUICK, pollWait: NEVER, resync: NEVER, sweep: NEVER } })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  await sleep(100)
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  const claim = { vm: vm.ref, key: GUESTINFO_CLAIM }
  await lab.vCenter.setGuestinfo({ ...claim, value: 'first' })
  await until('the claim', () => now()?.claim === 'first')
  await lab.vCenter.setGuestinfo({ ...claim, value: 'second' })
  await until('another claim', () => now()?.claim === 'second')
  await lab.vCenter.setGuestinfo({ ...claim, value: '' })
  await until('no claim', () => now()?.claim === undefined)
  await lab.vCenter.setGuest({ vm: vm.ref, hostName: 'n', nics: [{ addresses: ['10.1.1.1/8'] }] })
  await until('an address', () => now()?.guestNICs[0]?.addresses[0]?.address === '10.1.1.1')
  await lab.vCenter.setState({ vm: vm.ref, powerState: 'poweredOff' })
  await until('the power state', () => now()?.powerState === 'poweredOff')
  const reads = (await lab.vCenter.calls()).operations
  t.equal(reads.FindAllByUuid, 1, 'nothing is asked for what is pushed')
})

t.test('200 VMs in few calls; in quiet none but the long poll', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 200, clusters: 2 },
    timings: { ...QUICK, pollWait: 60_000 },
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  await until('all', () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry))
  // While a read takes long, the time is asked again and again; and how many answers bring the updates is the server's choice.
  const { CurrentTime: _doubts, WaitForUpdatesEx: _polls, ...calls } = (await lab.vCenter.calls()).operations
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0)
  t.ok(total <= 20, JSON.stringify(calls))
  t.match(calls, { Login: 1, CreateContainerView: 1 })
  t.equal(calls.FindAllByUuid, undefined)
  await quiet(lab, 2_000)
  t.same(await lab.vCenter.sessions(), { soap: 1, rest: 1 })
})

t.test('VMs that share a UUID are all told, also when the second comes later', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, sweep: 300 } })
  const first = await vmAt(lab, 0)
  const second = await vmAt(lab, 1)
  lab.inventory.follow(first.uuid)
  lab.inventory.follow(second.uuid)
  await answered(lab, first.uuid)
  await answered(lab, second.uuid)
  await lab.vCenter.setState({ vm: second.ref, uuid: first.uuid })
  const both = await answered(lab, first.uuid, 2)
  t.same(both.map((vm) => vm.moref).sort(), [first.ref, second.ref].sort())
  await answered(lab, second.uuid, 0)
  await lab.vCenter.setState({ vm: second.ref, uuid: second.uuid })
  await answered(lab, second.uuid)
  await answered(lab, first.uuid)
})

t.test('a destroyed VM is asked for before it is said to be gone', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const other = await vmAt(lab, 1)
  lab.inventory.follow(vm.uuid)
  lab.inventory.follow(other.uuid)
  await answered(lab, vm.uuid)
  await sleep(500)
  await lab.vCenter.fault({ operation: 'FindAllByUuid', kind: 'fault', fault: 'NoPermission' })
  await lab.vCenter.govc('vm.destroy', vm.name)
  const lookup = await until('an answer', () => {
    const lookup = lab.inventory.lookup(vm.uuid)
    return lookup.state === 'unknown' && lookup
  })
  t.match(
    lookup,
    { failure: { vCenter: 'lab', reason: 'NoPermission' } },
    'a search that fails proves nothing',
  )
  await lab.vCenter.clearFaults()
  lab.inventory.recheck(vm.uuid)
  t.same(await answered(lab, vm.uuid, 0), [])
  t.equal(lab.inventory.failure(), undefined)
  await answered(lab, other.uuid)
})

t.test('an inaccessible VM stays, though no search finds it', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await sleep(300)
  await lab.vCenter.setState({ vm: vm.ref, connectionState: 'inaccessible', uuid: '' })
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  await until('the state', () => now()?.connectionState === 'inaccessible')
  await lab.vCenter.endSessions()
  await until('a new session', async () => (await lab.vCenter.calls()).operations.Login === 2)
  await sleep(500)
  t.match(now(), { moref: vm.ref, biosUUID: undefined, connectionState: 'inaccessible' })
})

t.test('VMs in doubt are read again, by one call, and reported as changed', async (t) => {
  const lab = await openLab(t)
  const [one, two] = [await vmAt(lab, 0), await vmAt(lab, 1)]
  lab.inventory.follow(one.uuid)
  lab.inventory.follow(two.uuid)
  await told(lab, one.uuid, two.uuid)
  const mac = '00:50:56:8e:ff:01'
  await lab.vCenter.setState({ vm: one.ref, mac })
  await quiet(lab, 500)
  lab.changes.length = 0
  for (const { ref } of [one, two]) t.equal(lab.inventory.readSince(ref, 'a', 'n'), false)
  await until('both are told', () =>
    [one, two].every(({ uuid }) => lab.changes.some((uuids) => uuids.has(uuid))),
  )
  for (const { ref } of [one, two]) t.equal(lab.inventory.readSince(ref, 'a', 'n'), true)
  t.match(vmsOf(lab.inventory.lookup(one.uuid)), [{ moref: one.ref, nics: [{ mac }] }])
  const { WaitForUpdatesEx: _polls, ...calls } = (await lab.vCenter.calls()).operations
  t.same(Object.values(calls), [1], 'one call for both')
  t.equal(lab.inventory.readSince(one.ref, 'b', 'n'), false, 'another doubt')
  await until('it is read', () => lab.inventory.readSince(one.ref, 'b', 'n'))
})

t.test('a UUID that nobody has, until somebody has it', async (t) => {
  const lab = await openLab(t)
  const vm = await vmAt(lab, 0)
  const uuid = '1e100000-0000-4000-8000-000000000000'
  lab.inventory.follow(uuid)
  await answered(lab, uuid, 0)
  await quiet(lab, 300)
  lab.inventory.recheck(uuid)
  await until('the call', async () => (await lab.vCenter.calls()).operations.FindAllByUuid)
  await sleep(200)
  const { WaitForUpdatesEx: _polls, ...calls } = (await lab.vCenter.calls()).operations
  t.same(calls, { FindAllByUuid: 1 })
  await lab.vCenter.setState({ vm: vm.ref, uuid })
  lab.inventory.recheck(uuid)
  await answered(lab, uuid)
  lab.inventory.unfollow(uuid)
  t.same(lab.inventory.lookup(uuid), { state: 'pending' })
})
