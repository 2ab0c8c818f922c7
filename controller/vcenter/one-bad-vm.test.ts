/** One VM for which calls fail in an unexpected way, while all others and the session are well. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import type { VcsimVM } from '../../test/servers/control.ts'
import type { Vcsim } from '../../test/servers/vcsim.ts'
import { answered, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const TIMINGS = {
  ...QUICK,
  // Enough for a busy machine.
  callDeadline: 5_000,
  readDeadline: 6_000,
  unanswered: { base: 500, max: 1_000 },
  failed: 400,
  resync: 700,
  sweep: 900,
  keepAlive: 500,
}
const READ = 'RetrievePropertiesEx'

type Trouble = (vCenter: Vcsim, vm: VcsimVM) => Promise<unknown>
const TROUBLES: readonly (readonly [string, Trouble, RegExp])[] = [
  [
    'reading it fails',
    (vCenter, { ref }) =>
      vCenter.fault({ operation: READ, object: ref, kind: 'fault', fault: 'SystemError' }),
    /SystemError/,
  ],
  [
    'reading it fails by the fault of a property that is not known',
    (vCenter, { ref }) =>
      vCenter.fault({ operation: READ, object: ref, kind: 'fault', fault: 'InvalidProperty' }),
    /InvalidProperty/,
  ],
  [
    'whatever reads it fails, with all others',
    (vCenter, { ref }) =>
      vCenter.fault({ operation: READ, object: ref, kind: 'spoiled', fault: 'SystemError' }),
    /SystemError/,
  ],
  [
    'searching for it fails',
    (vCenter, { uuid }) =>
      vCenter.fault({ operation: 'FindAllByUuid', object: uuid, kind: 'fault', fault: 'RuntimeFault' }),
    /RuntimeFault/,
  ],
  [
    'reading it is answered as to one without a session',
    (vCenter, { ref }) =>
      vCenter.fault({ operation: READ, object: ref, kind: 'fault', fault: 'NotAuthenticated' }),
    /NotAuthenticated although the session is alive/,
  ],
  [
    'a property of it is answered so',
    (vCenter, { ref }) => vCenter.denyStray(ref, 'runtime.powerState'),
    /NotAuthenticated although the session is alive/,
  ],
  [
    'reading it hangs',
    (vCenter, { ref }) => vCenter.fault({ operation: READ, object: ref, kind: 'hang' }),
    /none about the VM/,
  ],
  [
    'whatever reads it hangs, with all others',
    (vCenter, { ref }) => vCenter.fault({ operation: READ, object: ref, kind: 'spoiled' }),
    /none about the VM/,
  ],
  ...[500, 503].map((status): (typeof TROUBLES)[number] => [
    `reading it is answered with HTTP status ${status}`,
    (vCenter, { ref }) => vCenter.fault({ operation: READ, object: ref, kind: 'status', status }),
    /none about the VM/,
  ]),
  [
    'searching for it hangs',
    (vCenter, { uuid }) => vCenter.fault({ operation: 'FindAllByUuid', object: uuid, kind: 'hang' }),
    /none about VMs with the UUID/,
  ],
]

for (const [what, trouble, message] of TROUBLES) {
  t.test(`${what}: only that VM is unknown`, async (t) => {
    const lab = await openLab(t, { simulator: { vms: 4 }, timings: TIMINGS })
    const { vCenter, inventory } = lab
    const [bad, ...others] = await vCenter.vms()
    if (bad === undefined) throw new Error('the simulator has no VM')
    await trouble(vCenter, bad)
    for (const { uuid } of [bad, ...others]) inventory.follow(uuid)
    for (const { uuid } of others) await answered(lab, uuid)
    const refusal = await until('a refusal', () => {
      const lookup = inventory.lookup(bad.uuid)
      return lookup.state === 'unknown' && lookup
    })
    t.match(refusal, {
      alone: true,
      failure: { reason: /^(UnexpectedFault|TimedOut|Unavailable)$/, message },
    })
    await until('all are read again', () => lab.corrections.length > 1)
    for (const { ref, uuid } of others) {
      await vCenter.setState({ vm: ref, powerState: 'poweredOff' })
      await until('it is followed', () => vmsOf(inventory.lookup(uuid))?.[0]?.powerState === 'poweredOff')
    }
    t.equal(inventory.failure(), undefined)
    t.notMatch(lab.log.join(''), /vCenter failed/)
    t.equal((await vCenter.calls()).operations.CreateListView, 1, 'nothing was made anew')
    t.same((await vCenter.sessions()).soap, 1)
    await vCenter.clearFaults()
    await vCenter.deny(bad.ref)
    await answered(lab, bad.uuid)
  })
}

for (const [what, find, kind, how = 'fails'] of [
  // Each read of a VM names its host, so the call fails that is about the host.
  ['host', ({ host }: VcsimVM) => ['-type=h', `-name=${host}`], 'fault'],
  ['cluster', () => ['-type=c'], 'spoiled'],
  ['datacenter', () => ['-type=d'], 'spoiled'],
  ['root folder', () => ['-type=f'], 'spoiled'],
  ['cluster', () => ['-type=c'], 'spoiled', 'hangs'],
] as const) {
  t.test(`whatever reads the ${what} above a VM ${how}: every VM is answered`, async (t) => {
    // A read of all VMs names no host: then it may be readable again, before anybody has looked.
    const unreadable: string[] = []
    const lab = await openLab(t, {
      simulator: { vms: 4, clusters: 2 },
      timings: TIMINGS,
      // What is above a VM is known with the first answer, not only once tags are.
      categories: {},
      onChange: (vms) => unreadable.push(...vms.flatMap(({ ancestry }) => ancestry?.unreadable ?? [])),
    })
    const { vCenter, inventory } = lab
    const [first, ...others] = await vCenter.vms()
    if (first === undefined) throw new Error('the simulator has no VM')
    const [found = ''] = (await vCenter.govc('find', '-i', ...find(first), '/')).trim().split('\n')
    const object = found.split(':')[1] ?? ''
    const fault = how === 'hangs' ? {} : { fault: 'SystemError' }
    await vCenter.fault({ operation: READ, object, kind, ...fault })
    for (const { uuid } of [first, ...others]) inventory.follow(uuid)
    for (const { uuid } of [first, ...others]) await answered(lab, uuid)
    const ancestryOf = ({ uuid }: VcsimVM) => vmsOf(inventory.lookup(uuid))?.[0]?.ancestry
    await until('what is above it, as far as that is known', () => ancestryOf(first))
    t.match(unreadable.join(), /is not readable/)
    await until('all are read again', () => lab.corrections.length > 1)
    t.ok(
      (await vCenter.faults()).every(({ hits }) => hits > 0),
      'it was met',
    )
    t.equal(inventory.failure(), undefined)
    t.notMatch(lab.log.join(''), /vCenter failed/)
    t.equal((await vCenter.calls()).operations.CreateListView, 1, 'nothing was made anew')
  })
}

t.test(
  'what is above all VMs hangs: all below it is known, and it is told what does not answer',
  async (t) => {
    const before = (vCenter: Vcsim) => vCenter.fault({ operation: READ, object: 'group-d1', kind: 'spoiled' })
    // So many that none of sixteen parts of what is above them is answered.
    const simulator = { vms: 40, clusters: 20, hosts: 2 }
    const lab = await openLab(t, { simulator, timings: TIMINGS, categories: {}, before })
    const { vCenter, inventory } = lab
    const vms = await vCenter.vms()
    for (const { uuid } of vms) inventory.follow(uuid)
    for (const { uuid } of vms) await answered(lab, uuid)
    const ancestries = () => vms.flatMap(({ uuid }) => vmsOf(inventory.lookup(uuid))?.[0]?.ancestry ?? [])
    await until('clusters and folders of all', () =>
      ancestries().every(
        ({ compute, folder, unreadable: [why = '', ...others] }) =>
          compute.some(({ type }) => type === 'ClusterComputeResource') &&
          folder.some(({ type }) => type === 'Folder') &&
          /^Datacenter datacenter-\d+ is not readable \(vCenter .*none about it/.test(why) &&
          others.length === 0,
      ),
    )
    await vCenter.clearFaults()
    await until('all that is above them', () =>
      ancestries().every(({ unreadable }) => unreadable.length === 0),
    )
    t.equal(ancestries().length, vms.length)
    t.notMatch(lab.log.join(''), /vCenter failed/)
  },
)

for (const fault of [
  { kind: 'hang' },
  { kind: 'status', status: 503 },
  { kind: 'fault', fault: 'SystemError' },
] as const) {
  t.test(
    `a view of all VMs ends in ${fault.kind}: each is watched, and all UUIDs once it can be made`,
    async (t) => {
      const view = { operation: 'CreateContainerView', ...fault }
      // While all is created anew, no read creates a collector, whose lost name would end the session.
      const timings = { ...TIMINGS, sweep: NEVER, resync: NEVER }
      const lab = await openLab(t, { timings, before: (vCenter) => vCenter.fault(view) })
      const { vCenter, inventory } = lab
      const [vm, copy] = await vCenter.vms()
      if (vm === undefined || copy === undefined) throw new Error('the simulator has too few VMs')
      inventory.follow(vm.uuid)
      await answered(lab, vm.uuid)
      await vCenter.setState({ vm: vm.ref, powerState: 'poweredOff' })
      await until('it is seen', () => vmsOf(inventory.lookup(vm.uuid))?.[0]?.powerState === 'poweredOff')
      await until('it is told', () => /does not push the UUIDs of all VMs/.test(lab.log.join('')))
      t.notMatch(lab.log.join(''), /vCenter failed|give the account/)
      await vCenter.clearFaults()
      await vCenter.setState({ vm: copy.ref, uuid: vm.uuid })
      await answered(lab, vm.uuid, 2)
      t.notMatch(lab.log.join(''), /"level":40[^\n]*vCenter failed/)
      // What may have been made, by a name that is not known, ends with its session.
      t.equal((await vCenter.calls()).operations.Login, fault.kind === 'hang' ? 2 : 1)
    },
  )
}

t.test(
  'a watch of all UUIDs that works only when it is tried does not have all read again and again',
  async (t) => {
    const filter = { operation: 'CreateFilter', kind: 'fault', fault: 'SystemError', times: 2 } as const
    const lab = await openLab(t, {
      timings: { ...TIMINGS, sweep: NEVER, resync: NEVER },
      async before(vCenter) {
        await vCenter.fault({ ...filter, after: 1 })
        // The trial, and the members' filter of the next connection.
        await vCenter.fault({ ...filter, after: 3 })
      },
    })
    const { vCenter, inventory } = lab
    const { uuid } = await vmAt(lab, 0)
    inventory.follow(uuid)
    await answered(lab, uuid)
    const told = () => lab.log.filter((line) => line.includes('does not push the UUIDs of all VMs'))
    await until('it is refused in the next connection', () => told().length === 2)
    const made = async () => (await vCenter.calls()).operations
    const { CreateFilter: filters = 0 } = await made()
    await until('it is tried again', async () => ((await made()).CreateFilter ?? 0) > filters)
    const { CreateFilter: tried = 0 } = await made()
    const { uuid: another } = await vmAt(lab, 1)
    inventory.follow(another)
    await answered(lab, another)
    t.same([(await made()).CreateListView, (await made()).CreateFilter], [2, tried], 'and then left alone')
    t.equal(inventory.lookup(uuid).state, 'answered')
  },
)

t.test('a VM begins to hang: the others stay known, and a new one is answered and watched', async (t) => {
  const lapses = new Set<string>()
  const watched: string[] = []
  const lab = await openLab(t, {
    simulator: { vms: 12 },
    timings: TIMINGS,
    onChange() {
      for (const uuid of watched) if (lab.inventory.lookup(uuid).state !== 'answered') lapses.add(uuid)
    },
  })
  const { vCenter, inventory } = lab
  const [bad, late, ...others] = await vCenter.vms()
  if (bad === undefined || late === undefined) throw new Error('the simulator has too few VMs')
  for (const { uuid } of [bad, ...others]) inventory.follow(uuid)
  for (const { uuid } of [bad, ...others]) await answered(lab, uuid)
  watched.push(...others.map(({ uuid }) => uuid))
  await vCenter.fault({ operation: READ, object: bad.ref, kind: 'spoiled' })
  await until('it is unknown', () => inventory.lookup(bad.uuid).state === 'unknown')
  inventory.follow(late.uuid)
  await answered(lab, late.uuid)
  await vCenter.setState({ vm: late.ref, powerState: 'poweredOff' })
  await until('it is followed', () => vmsOf(inventory.lookup(late.uuid))?.[0]?.powerState === 'poweredOff')
  const known = lab.corrections.length
  await until('all are read again', () => lab.corrections.length > known + 1)
  t.same([...lapses], [])
  t.notMatch(lab.log.join(''), /vCenter failed/)
})

t.test('a copy that is seen while its reads hang, because of another VM, is not forgotten', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 4 }, timings: { ...TIMINGS, sweep: NEVER } })
  const { vCenter, inventory } = lab
  const [bad, original, copy] = await vCenter.vms()
  if (bad === undefined || original === undefined || copy === undefined) throw new Error('too few VMs')
  inventory.follow(original.uuid)
  await answered(lab, original.uuid)
  await vCenter.fault({ operation: READ, object: bad.ref, kind: 'hang' })
  await vCenter.setState({ vm: copy.ref, uuid: original.uuid })
  inventory.follow(bad.uuid)
  await until('it is unknown', () => inventory.lookup(bad.uuid).state === 'unknown')
  await answered(lab, original.uuid, 2)
})

for (const fault of [{ kind: 'hang' }, { kind: 'status', status: 500 }] as const) {
  t.test(`adding a VM to the list ends in ${fault.kind}: the others are watched`, async (t) => {
    const lab = await openLab(t, { simulator: { vms: 6 }, timings: TIMINGS })
    const { vCenter, inventory } = lab
    const [bad, ...others] = await vCenter.vms()
    if (bad === undefined) throw new Error('the simulator has no VM')
    await vCenter.fault({ operation: 'ModifyListView', object: bad.ref, ...fault })
    for (const { uuid } of [bad, ...others]) inventory.follow(uuid)
    for (const { uuid } of [bad, ...others]) await answered(lab, uuid)
    for (const { ref, uuid } of [bad, ...others]) {
      await vCenter.setState({ vm: ref, powerState: 'poweredOff' })
      await until('it is seen', () => vmsOf(inventory.lookup(uuid))?.[0]?.powerState === 'poweredOff')
    }
    await until('it is told', () => lab.unwatched.at(-1) === 1)
    await vCenter.clearFaults()
    await until('it is watched', () => lab.unwatched.at(-1) === 0)
    t.notMatch(lab.log.join(''), /vCenter failed/)
  })
}

t.test('a host above one VM fails for long: what moves elsewhere is seen all the same', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 4, clusters: 2 },
    timings: TIMINGS,
    categories: {},
  })
  const { vCenter, inventory } = lab
  const [first, ...others] = await vCenter.vms()
  if (first === undefined) throw new Error('the simulator has no VM')
  for (const { uuid } of [first, ...others]) inventory.follow(uuid)
  for (const { uuid } of [first, ...others]) await answered(lab, uuid)
  const [found = ''] = (await vCenter.govc('find', '-i', '-type=h', `-name=${first.host}`, '/'))
    .trim()
    .split('\n')
  await vCenter.fault({
    operation: READ,
    object: found.split(':')[1] ?? '',
    kind: 'spoiled',
    fault: 'SystemError',
  })
  await vCenter.govc('folder.create', '/DC0/vm/elsewhere')
  const other = others.find(({ host }) => host !== first.host)
  if (other === undefined) throw new Error('all are on one host')
  await vCenter.move({ vm: other.ref, folder: '/DC0/vm/elsewhere' })
  await vCenter.govc('object.rename', '/DC0/host/DC0_C1', 'renamed')
  const names = ({ uuid }: VcsimVM) => {
    const ancestry = vmsOf(inventory.lookup(uuid))?.[0]?.ancestry
    return [...(ancestry?.folder ?? []), ...(ancestry?.compute ?? [])].map(({ name }) => name)
  }
  await until('the folder', () => names(other).includes('elsewhere'))
  await until('the name of the cluster', () => others.some((vm) => names(vm).includes('renamed')))
  t.equal(inventory.failure(), undefined)
})

t.test('a fault that comes once is not seen', async (t) => {
  for (const operation of [READ, 'FindAllByUuid', 'CreateContainerView', 'WaitForUpdatesEx']) {
    const lab = await openLab(t, {
      before: (vCenter) => vCenter.fault({ operation, kind: 'fault', fault: 'SystemError', times: 1 }),
    })
    const [vm] = await lab.vCenter.vms()
    lab.inventory.follow(vm?.uuid ?? '')
    await until('it was met', async () => (await lab.vCenter.faults()).every(({ hits }) => hits === 1))
    await answered(lab, vm?.uuid ?? '')
    t.notMatch(lab.log.join(''), /vCenter failed|does not push/, operation)
    await lab.stop()
  }
})

t.test('nor one that comes once while the UUIDs of all VMs are read', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 9 },
    before: (vCenter) => vCenter.fault({ operation: READ, kind: 'fault', fault: 'SystemError', times: 1 }),
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  t.ok((await lab.vCenter.faults()).every(({ hits }) => hits === 1))
  t.equal((await lab.vCenter.calls()).operations.FindAllByUuid, undefined, 'none is searched for by itself')
})

t.test(
  'each poll fails that tells of one VM: the others are watched, and it is, once it can be',
  async (t) => {
    // What is seen is pushed. With `resync` those would be added again that are not watched.
    const timings = { ...TIMINGS, resync: NEVER, sweep: NEVER }
    const lab = await openLab(t, { simulator: { vms: 9 }, timings })
    const { vCenter, inventory } = lab
    const [bad, late, ...others] = await vCenter.vms()
    if (bad === undefined || late === undefined) throw new Error('the simulator has too few VMs')
    const off = async ({ ref, uuid }: VcsimVM) => {
      await vCenter.setState({ vm: ref, powerState: 'poweredOff' })
      await until('it is pushed', () => vmsOf(inventory.lookup(uuid))?.[0]?.powerState === 'poweredOff')
    }
    for (const { uuid } of [bad, ...others]) inventory.follow(uuid)
    for (const { uuid } of [bad, ...others]) await answered(lab, uuid)
    await vCenter.fault({
      operation: 'WaitForUpdatesEx',
      object: bad.ref,
      kind: 'spoiled',
      fault: 'SystemError',
    })
    let isOn = true
    await until('it is told', async () => {
      // Each answer is lost that tells of it.
      isOn = !isOn
      await vCenter.setState({ vm: bad.ref, powerState: isOn ? 'poweredOn' : 'poweredOff' })
      return lab.unwatched.at(-1) === 1
    })
    t.match(lab.log.join(''), /pushes no changes of some VMs/)
    // Nobody can leave one VM out there.
    t.match(lab.log.join(''), /does not push the UUIDs of all VMs/)
    inventory.follow(late.uuid)
    await answered(lab, late.uuid)
    for (const vm of [...others, late]) await off(vm)
    t.equal((await vCenter.calls()).operations.CreateListView, 1, 'nothing was made anew')
    t.equal(inventory.lookup(bad.uuid).state, 'answered', 'it can be read')
    t.equal(inventory.unsteady(), undefined)
    t.notMatch(lab.log.join(''), /vCenter failed/)
    await vCenter.clearFaults()
    await vCenter.setState({ vm: bad.ref, powerState: 'poweredOn' })
    await until('it is watched', () => lab.unwatched.at(-1) === 0)
    await off(bad)
    t.same((await vCenter.sessions()).soap, 1)
  },
)

t.test(
  'after a poll that met a fault all VMs are read again, for a change may be lost with its answer',
  async (t) => {
    const lab = await openLab(t, { timings: { ...QUICK, resync: NEVER, sweep: NEVER } })
    const [vm] = await lab.vCenter.vms()
    lab.inventory.follow(vm?.uuid ?? '')
    await answered(lab, vm?.uuid ?? '')
    const before = lab.corrections.length
    await lab.vCenter.fault({ operation: 'WaitForUpdatesEx', kind: 'fault', fault: 'SystemError', times: 1 })
    await until('all are read again', () => lab.corrections.length > before)
    t.equal((await lab.vCenter.calls()).operations.CreateListView, 1, 'nothing is made anew')
  },
)
