/** What label rules are made from: custom attributes by push, moves, and how often all was read. */

import type { Test } from 'tap'
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import type { VirtualMachine } from '../types/virtual-machine.ts'
import { answered, type LabOptions, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const OWNER = { kind: 'attribute', name: 'Owner' } as const
/** Only push tells of what is seen sooner. */
const PUSH = { ...QUICK, pollWait: 60_000 }

async function setUp(t: Test, options: LabOptions = {}) {
  let key = 0
  const lab = await openLab(t, {
    categories: {},
    sources: [OWNER, { kind: 'attribute', name: 'Nobody' }, { kind: 'host' }],
    timings: PUSH,
    ...options,
    async before(vCenter) {
      key = Number(await vCenter.govc('fields.add', '-type', 'VirtualMachine', 'Owner'))
      await vCenter.govc('fields.add', '-type', 'HostSystem', 'Nobody')
      await options.before?.(vCenter)
    },
  })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  const attribute = (name = 'Owner') => now()?.attributes?.get(name)
  const set = (customValues: Record<number, string>) => lab.vCenter.setState({ vm: vm.ref, customValues })
  return { ...lab, vm, key, now, attribute, set }
}

const isValue = (found: ReturnType<Awaited<ReturnType<typeof setUp>>['attribute']>, ...values: string[]) =>
  found !== undefined && 'values' in found && String(found.values) === String(values)

t.test('custom attributes are pushed, and have the names that vCenter gives their keys', async (t) => {
  const { key, attribute, set } = await setUp(t)
  t.same(attribute(), { values: [] })
  t.match(attribute('Nobody'), { unread: /no custom attribute "Nobody" for VMs: create it/ }, 'one of hosts')
  await set({ [key]: 'ops', [key + 100]: 'other' })
  await until('the value', () => isValue(attribute(), 'ops'))
  await set({ [key]: '' })
  await until('no value', () => isValue(attribute()))
})

t.test('a name that changes is noticed when all is read again', async (t) => {
  const { vCenter, key, attribute, set } = await setUp(t, { timings: { ...PUSH, resync: 400 } })
  await set({ [key]: 'ops' })
  await until('the value', () => isValue(attribute(), 'ops'))
  await vCenter.govc('fields.rename', String(key), 'Former')
  await until('no such name', () => 'unread' in (attribute() ?? {}))
  await vCenter.govc('fields.rename', String(key), 'Owner')
  await until('it is back', () => isValue(attribute(), 'ops'))
})

t.test('where no rule names one, none is asked for', async (t) => {
  const { key, now, set, vCenter, vm } = await setUp(t, { sources: [] })
  await set({ [key]: 'ops' })
  await vCenter.setState({ vm: vm.ref, powerState: 'poweredOff' })
  await until('what was pushed after it', () => now()?.powerState === 'poweredOff')
  t.equal(now()?.attributes, undefined)
  t.equal(now()?.moving, undefined)
})

t.test('an account that may not read them knows that', async (t) => {
  const { attribute } = await setUp(t, {
    timings: { ...PUSH, resync: 400 },
    before: (vCenter) =>
      vCenter.fault({
        operation: 'RetrievePropertiesEx',
        kind: 'fault',
        object: 'CustomFieldsManager',
        fault: 'NoPermission',
      }),
  })
  t.match(attribute(), { unread: /names of custom attributes cannot be read: .*Read-only/ })
})

t.test('a VM is moving until its folder and its resource pool are read', async (t) => {
  const seen: (VirtualMachine | undefined)[] = []
  const { vCenter, vm, now, changes, inventory } = await setUp(t, { simulator: { clusters: 2, vms: 2 } })
  t.equal(now()?.moving, false)
  const host = vm.host.startsWith('DC0_C0') ? 'DC0_C1_H0' : 'DC0_C0_H0'
  const pool = now()?.ancestry?.resourcePool[0]?.moref
  const before = changes.length
  const watching = setInterval(() => seen.push(now()), 1)
  t.teardown(() => clearInterval(watching))
  await vCenter.move({ vm: vm.ref, host })
  await until('it has moved', () => now()?.host === host && now()?.moving === false)
  t.not(now()?.ancestry?.resourcePool[0]?.moref, pool, 'with its pool')
  t.ok(changes.length > before)
  const settled = seen.filter((one) => one?.host === host && one.moving !== true)
  t.notOk(
    settled.some((one) => one?.ancestry?.resourcePool[0]?.moref === pool),
    'never half of it',
  )
  t.equal(inventory.fullReads(), 0)
})

t.test('reads of all are counted: of VMs, and of tags where there are any', async (t) => {
  const { inventory } = await setUp(t, { timings: { ...PUSH, resync: 300 } })
  await until('VMs were read twice', () => inventory.fullReads() >= 2)
  const tags = await setUp(t, {
    sources: [{ kind: 'tagCategory', name: 'rack' }],
    timings: { ...PUSH, resync: 300 },
    before: (vCenter) => vCenter.tag({ category: 'rack', tag: 'r1', object: 'DC0_C0_H0' }),
  })
  await until('all was read twice', () => tags.inventory.fullReads() >= 2)
  await tags.vCenter.fault({
    operation: 'REST POST /rest/com/vmware/cis/tagging/tag-association',
    kind: 'status',
    status: 503,
  })
  await until('the service fails', () => tags.log.some((line) => line.includes('tags cannot be read')))
  // Tags may have been read once more than VMs by then.
  const readVMs = async () => {
    const { length } = tags.corrections
    await until('the VMs are read again', () => tags.corrections.length > length + 2)
  }
  await readVMs()
  const failed = tags.inventory.fullReads()
  await readVMs()
  t.equal(tags.inventory.fullReads(), failed)
})

for (const failing of [{ kind: 'hang' }, { kind: 'status', status: 500 }] as const)
  t.test(
    `what is read for labels and messages alone fails (${failing.kind}): nothing else does`,
    async (t) => {
      const lab = await openLab(t, {
        sources: [{ kind: 'attribute', name: 'owner' }],
        timings: { ...QUICK, callDeadline: 2_000, readDeadline: 2_500, keepAlive: NEVER },
        async before(vCenter) {
          for (const object of ['CustomFieldsManager', 'group-d1'])
            await vCenter.fault({ operation: 'RetrievePropertiesEx', object, ...failing, times: 2 })
        },
      })
      const { uuid } = await vmAt(lab, 0)
      lab.inventory.follow(uuid)
      const [vm] = await answered(lab, uuid)
      t.match(vm?.attributes?.get('owner'), { unread: /^the names of custom attributes cannot be read: / })
      await until('both were met', async () => (await lab.vCenter.faults()).every(({ hits }) => hits > 0))
      await until('that is told', () => lab.log.some((line) => line.includes('datacenters cannot be read')))
      t.equal(lab.inventory.failure(), undefined)
      t.notMatch(lab.log.join(''), /vCenter failed/)
      t.equal((await lab.vCenter.calls()).operations.CreateListView, 1, 'nothing was made anew')
    },
  )
