/** A second VM with a followed UUID is seen at once, and not when all UUIDs are read the next time. */
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, type Lab, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

const TIMINGS = { ...QUICK, pollWait: 60_000, resync: NEVER, sweep: NEVER, keepAlive: NEVER }

async function followed(t: Parameters<typeof openLab>[0], timings = TIMINGS) {
  const lab = await openLab(t, { timings })
  const [victim, tenant] = [await vmAt(lab, 0), await vmAt(lab, 1)]
  lab.inventory.follow(victim.uuid)
  await answered(lab, victim.uuid)
  return { lab, victim, tenant }
}

async function searches({ vCenter }: Lab): Promise<number> {
  return (await vCenter.calls()).operations.FindAllByUuid ?? 0
}

t.test('a VM is given the UUID of another, and its own again', async (t) => {
  const { lab, victim, tenant } = await followed(t)
  lab.changes.length = 0
  await lab.vCenter.govc('vm.change', '-vm', tenant.name, '-uuid', victim.uuid)
  const both = await answered(lab, victim.uuid, 2)
  t.same(both.map(({ moref }) => moref).toSorted(), [victim.ref, tenant.ref].toSorted())
  t.ok(lab.changes.some((uuids) => uuids.has(victim.uuid)))
  t.ok(lab.inventory.connected())

  // Whether or not the list has it already.
  await lab.vCenter.govc('vm.change', '-vm', tenant.name, '-uuid', tenant.uuid)
  const [left] = await answered(lab, victim.uuid, 1)
  t.equal(left?.moref, victim.ref)
  t.equal((await lab.vCenter.calls()).operations.CreateContainerView, 1)
})

t.test('a copy of which push tells nothing is seen once a probe finds it', async (t) => {
  const { lab, victim, tenant } = await followed(t, { ...TIMINGS, pollWait: NEVER })
  await lab.vCenter.fault({ operation: 'WaitForUpdatesEx', kind: 'hang' })
  // Ends the poll that had begun before.
  await lab.vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
  await until('a poll hangs', async () => (await lab.vCenter.faults()).some(({ hits }) => hits > 0))
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
  const vm = { moref: victim.ref, name: 'victim', biosUUID: victim.uuid, instanceUUID: '' }
  const own = { vCenter: 'lab', vCenterInstanceUUID: lab.inventory.instanceUUID() }
  await lab.inventory.probe({ ...own, ...vm }, new AbortController().signal)
  await answered(lab, victim.uuid, 2)
})

t.test('a VM is created, or registered, with the UUID of another', async (t) => {
  const { lab, victim, tenant } = await followed(t)
  const { ref: created } = await lab.vCenter.create({ name: 'copy', like: tenant.name })
  await lab.vCenter.setState({ vm: created, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)

  await lab.vCenter.hide(tenant.ref)
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid.toUpperCase() })
  await lab.vCenter.register(tenant.ref)
  const three = await answered(lab, victim.uuid, 3)
  t.ok(three.some(({ moref }) => moref === created))
})

t.test(
  'a copy that is taken out of our sight does not hide the other, and is seen when it is back',
  async (t) => {
    const { lab, victim, tenant } = await followed(t)
    await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
    await answered(lab, victim.uuid, 2)
    const powerOf = (ref: string) =>
      vmsOf(lab.inventory.lookup(victim.uuid))?.find(({ moref }) => moref === ref)?.powerState
    await lab.vCenter.revoke({ object: tenant.ref })
    await lab.vCenter.setState({ vm: victim.ref, powerState: 'poweredOff' })
    await until('the other is off', () => powerOf(victim.ref) === 'poweredOff')
    await until('an answer', () => powerOf(tenant.ref) === 'poweredOn')

    await lab.vCenter.setState({ vm: tenant.ref, powerState: 'suspended' })
    await lab.vCenter.restore()
    await until('it is back', () => powerOf(tenant.ref) === 'suspended')
    t.equal((await lab.vCenter.calls()).operations.Login, 1)
  },
)

t.test('of a VM that is to be read again and may not be, that is said until it may', async (t) => {
  const { lab, victim, tenant } = await followed(t, { ...TIMINGS, failed: 300 })
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)
  await lab.vCenter.revoke({ object: tenant.ref })
  const again = () => lab.inventory.readSince(tenant.ref, 'another MAC', 'worker-1')
  t.match(await until('a refusal', () => typeof again() === 'object' && again()), {
    reason: 'NoPermission',
    message: /is not allowed to read anything of the VM .*; give it the role Read-only/,
  })
  await lab.vCenter.restore()
  await until('it is read', () => again() === true)
})

t.test('the UUIDs of all VMs are watched in the next session, too', async (t) => {
  const { lab, victim, tenant } = await followed(t)
  await until('watched', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  await lab.vCenter.endSessions()
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)
  await lab.vCenter.setState({ vm: tenant.ref, uuid: tenant.uuid })
  await answered(lab, victim.uuid, 1)
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)
})

t.test('a UUID that changes a thousand times costs few searches, and no doubt about its owner', async (t) => {
  const { lab, victim, tenant } = await followed(t)
  await until('watched', async () => ((await lab.vCenter.calls()).operations.WaitForUpdatesEx ?? 0) > 1)
  const before = await searches(lab)
  const start = performance.now()
  let unknown = 0
  for (let i = 0; i < 500; i++) {
    for (const uuid of [victim.uuid, tenant.uuid]) {
      await lab.vCenter.setState({ vm: tenant.ref, uuid })
      // Some seconds in all, so that there is more than one search.
      await setTimeout(5)
      if (vmsOf(lab.inventory.lookup(victim.uuid))?.some(({ moref }) => moref === victim.ref) !== true)
        unknown++
    }
  }
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)
  const runs = 1 + Math.ceil((performance.now() - start) / TIMINGS.locate.spacing)
  const cost = (await searches(lab)) - before
  t.ok(cost <= runs + 1, `${cost} searches in ${runs} runs`)
  t.equal(unknown, 0)
})

t.test('where vCenter does not let all VMs be watched, their UUIDs are read as before', async (t) => {
  const lab = await openLab(t, {
    timings: { ...TIMINGS, sweep: 500 },
    before: (vCenter) =>
      vCenter.fault({ operation: 'CreateFilter', kind: 'fault', fault: 'NoPermission', after: 1 }),
  })
  const [victim, tenant] = [await vmAt(lab, 0), await vmAt(lab, 1)]
  lab.inventory.follow(victim.uuid)
  await answered(lab, victim.uuid)
  const told = () => lab.log.filter((line) => line.includes('does not push the UUIDs of all VMs'))
  await until('the log', () => told().length > 0)
  await lab.vCenter.setState({ vm: tenant.ref, uuid: victim.uuid })
  await answered(lab, victim.uuid, 2)
  t.equal(told().length, 1)
  t.ok(lab.inventory.connected())
})
