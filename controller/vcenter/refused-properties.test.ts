/** Single properties that the account may not read. */
import t, { type Test } from 'tap'
import { GUESTINFO_CLAIM } from '../../agent/shared/node-report.ts'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const ESSENTIAL = ['config.uuid', 'runtime.connectionState', 'runtime.powerState']

async function setUp(t: Test) {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 300, failed: 300 } })
  const vm = await vmAt(lab, 0)
  const refusal = () => {
    const lookup = lab.inventory.lookup(vm.uuid)
    return lookup.state === 'unknown' && lookup.failure
  }
  const now = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
  return { lab, vm, refusal, now }
}

t.test('a VM of which something essential may not be read is refused by its name', async (t) => {
  const { lab, vm, refusal } = await setUp(t)
  const other = await vmAt(lab, 1)
  await lab.vCenter.deny(vm.ref, 'config.uuid')
  for (const { uuid } of [vm, other]) lab.inventory.follow(uuid)
  t.match(await until('a refusal', refusal), {
    reason: 'NoPermission',
    message: `config.uuid of the VM "${vm.name}" (${vm.ref}) without the privilege System.Read`,
  })
  await answered(lab, other.uuid)
  t.equal(lab.inventory.failure(), undefined, 'vCenter as a whole is well')
  await lab.vCenter.deny(vm.ref)
  await answered(lab, vm.uuid)
})

t.test('and so is one that was known, and comes back', async (t) => {
  const { lab, vm, refusal } = await setUp(t)
  lab.inventory.follow(vm.uuid)
  const [known] = await answered(lab, vm.uuid)
  for (const path of ESSENTIAL) {
    await lab.vCenter.deny(vm.ref, path)
    const { message } = await until(`a refusal of ${path}`, refusal)
    t.match(message, `${path} of the VM "${vm.name}"`)
    await lab.vCenter.deny(vm.ref)
    await until('the VM as it was', () => {
      const seen = vmsOf(lab.inventory.lookup(vm.uuid))?.[0]
      return seen?.ancestry && t.match(seen, { moref: vm.ref, nics: known?.nics, powerState: 'poweredOn' })
    })
  }
})

t.test(
  'its network cards are essential when they are read, which is when its configuration has changed',
  async (t) => {
    const { lab, vm, refusal } = await setUp(t)
    lab.inventory.follow(vm.uuid)
    const [known] = await answered(lab, vm.uuid)
    await lab.vCenter.deny(vm.ref, 'config.hardware.device[4000]')
    await lab.vCenter.setState({ vm: vm.ref, cpus: 8 })
    const { message } = await until('a refusal', refusal)
    t.match(message, `config.hardware.device[4000] of the VM "${vm.name}"`)
    await lab.vCenter.deny(vm.ref)
    const [again] = await answered(lab, vm.uuid)
    t.match(again, { cpus: 8, nics: known?.nics })
  },
)

t.test('push that may not tell an essential property is no word on it', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, resync: 3_600_000, failed: 300 } })
  const vm = await vmAt(lab, 0)
  lab.inventory.follow(vm.uuid)
  await answered(lab, vm.uuid)
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  await lab.vCenter.deny(vm.ref, 'runtime.connectionState')
  const states = new Set<string>()
  await lab.vCenter.setState({ vm: vm.ref, connectionState: 'disconnected' })
  await until('a refusal', () => {
    const lookup = lab.inventory.lookup(vm.uuid)
    for (const seen of vmsOf(lookup) ?? []) states.add(seen.connectionState)
    return lookup.state === 'unknown' && lookup.failure.reason === 'NoPermission'
  })
  t.same(
    [...states].filter((state) => state !== 'connected'),
    [],
    'never "invalid"',
  )
})

t.test('a VM is followed without what it can do without', async (t) => {
  const { lab, vm, now } = await setUp(t)
  await lab.vCenter.setGuest({ vm: vm.ref, hostName: 'n', nics: [{ addresses: ['10.1.1.1/8'] }] })
  await lab.vCenter.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value: 'mine' })
  const claim = `config.extraConfig["${GUESTINFO_CLAIM}"]`
  await lab.vCenter.deny(vm.ref, 'name', 'guest.net', claim, 'runtime.host', 'config.instanceUuid')
  lab.inventory.follow(vm.uuid)
  t.match(await until('the VM', () => now()?.ancestry && now()), {
    name: vm.ref,
    biosUUID: vm.uuid,
    connectionState: 'connected',
    powerState: 'poweredOn',
    guestNICs: [],
    claim: undefined,
    unreadable: ['guestNICs', 'claim'],
    host: undefined,
    ancestry: { unreadable: [`runtime.host of VirtualMachine ${vm.ref} (${vm.ref})`] },
  })
  await lab.vCenter.deny(vm.ref)
  await until('all of it', () => now()?.claim === 'mine' && now()?.host && now()?.ancestry)
  t.match(now(), { name: vm.name, unreadable: [], ancestry: { unreadable: [] } })
  t.equal(now()?.guestNICs.length, 1)
})

t.test('a server that knows no paths with keys is asked for whole lists', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, resync: 700 },
    async before(vCenter) {
      for (const operation of ['CreateFilter', 'RetrievePropertiesEx'])
        for (const object of ['config.extraConfig[', 'config.hardware.device['])
          await vCenter.fault({ operation, object, kind: 'fault', fault: 'InvalidProperty' })
    },
  })
  const vm = await vmAt(lab, 0)
  const claim = () => vmsOf(lab.inventory.lookup(vm.uuid))?.[0]?.claim
  const set = (value: string) => lab.vCenter.setGuestinfo({ vm: vm.ref, key: GUESTINFO_CLAIM, value })
  await set('first')
  lab.inventory.follow(vm.uuid)
  const [known] = await answered(lab, vm.uuid)
  t.match(known, { claim: 'first', nics: vm.vnics.map(({ mac }) => ({ mac })) })
  await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  await set('second')
  await until('the next claim', () => claim() === 'second')
  await until('all are read again', () => lab.corrections.length > 1)
  t.equal(claim(), 'second')
  t.notMatch(lab.log.join(''), /vCenter failed/)
})
