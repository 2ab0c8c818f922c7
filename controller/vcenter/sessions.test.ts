/** Sessions and what is made in them: refused, ended, lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { Secret } from '../config/secret.ts'
import { answered, type Lab, openLab, QUICK, told, vmAt, vmsOf } from './testing/lab.ts'

const failureOf = ({ inventory }: Lab) => until('a failure', () => inventory.failure())

t.test('a wrong password is tried once, and then rests', async (t) => {
  const lab = await openLab(t, { config: { password: new Secret('wr<o>&ng') } })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  t.match(await failureOf(lab), {
    vCenter: 'lab',
    reason: 'InvalidLogin',
    message: /administrator@vsphere.local/,
  })
  t.match(lab.inventory.lookup(uuid), { state: 'unknown', failure: { reason: 'InvalidLogin' } })
  t.ok(lab.changes.some((uuids) => uuids.has(uuid)))
  lab.inventory.recheck(uuid)
  await sleep(2_000)
  t.same((await lab.vCenter.calls()).operations, { RetrieveServiceContent: 1, Login: 1 })
  t.notMatch(lab.log.join(''), /wr<o>/)
  await lab.stop()
})

t.test('a password that is refused when the session has ended is not tried again either', async (t) => {
  const lab = await openLab(t)
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  await lab.vCenter.fault({ operation: 'Login', kind: 'fault', fault: 'InvalidLogin' })
  await lab.vCenter.endSessions()
  t.match(await failureOf(lab), { reason: 'InvalidLogin' })
  await sleep(1_500)
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  t.match(lab.inventory.lookup(uuid), { state: 'unknown' })
})

t.test('sessions that end are made anew, once', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 20 } })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  await told(lab, ...vms.map(({ uuid }) => uuid))
  await sleep(500)
  const before = lab.changes.length
  await lab.vCenter.endSessions()
  await until('a login', async () => (await lab.vCenter.calls()).operations.Login === 2)
  await sleep(1_500)
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  t.same(await lab.vCenter.sessions(), { soap: 1, rest: 0 }, 'the REST session waits until it is needed')
  t.equal(lab.changes.length, before, 'nobody noticed')
  await lab.vCenter.setState({ vm: vms[3]?.ref ?? '', powerState: 'suspended' })
  await until('push', () => vmsOf(lab.inventory.lookup(vms[3]?.uuid ?? ''))?.[0]?.powerState === 'suspended')
})

t.test('a session that ends between two pages is made anew, once', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 1_100 },
    before: (vCenter) =>
      vCenter.fault({
        operation: 'ContinueRetrievePropertiesEx',
        kind: 'delay',
        milliseconds: 500,
        times: 1,
      }),
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  const { operations } = await until('the second page', async () => {
    const calls = await lab.vCenter.calls()
    return calls.operations.ContinueRetrievePropertiesEx === 1 && calls
  })
  t.equal(operations.Login, 1)
  await lab.vCenter.endSessions()
  await until('all', () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.length === 1))
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  t.equal((await lab.vCenter.sessions()).soap, 1)
})

t.test('logins that bring no session are made at a pace', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, backoff: { base: 500, max: 60_000 } },
    before: (vCenter) =>
      vCenter.fault({ operation: 'CreateListView', kind: 'fault', fault: 'NotAuthenticated' }),
  })
  t.match(await failureOf(lab), { reason: 'SessionLost' })
  await sleep(5_000)
  const { operations } = await lab.vCenter.calls()
  t.ok((operations.Login ?? 0) <= 5, JSON.stringify(operations))
})

t.test('objects of the session that vanish are made anew; VMs do not suffer', async (t) => {
  for (const [operation, fault] of [
    ['WaitForUpdatesEx', 'RequestCanceled'],
    ['WaitForUpdatesEx', 'InvalidCollectorVersion'],
    // Of the collector, of the list, of the collector that all share.
    ['WaitForUpdatesEx', 'ManagedObjectNotFound'],
    ['ModifyListView', 'ManagedObjectNotFound'],
    ['RetrievePropertiesEx', 'ManagedObjectNotFound'],
    ['RetrievePropertiesEx', 'RequestCanceled'],
  ] as const) {
    const lab = await openLab(t, { timings: { ...QUICK, pollWait: 1_000, resync: 1_000 } })
    const { uuid } = await vmAt(lab, 0)
    const second = await vmAt(lab, 1)
    // Where one alone is followed, others are looked for at each resync, and would meet the fault first.
    const third = await vmAt(lab, 2)
    for (const each of [uuid, second.uuid, third.uuid]) lab.inventory.follow(each)
    await told(lab, uuid)
    await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
    const before = lab.changes.length
    await lab.vCenter.fault({ operation, kind: 'fault', fault, times: 1 })
    lab.inventory.unfollow(second.uuid)
    await until('a new filter', async () => (await lab.vCenter.calls()).operations.CreateFilter === 2)
    await sleep(300)
    t.equal((await lab.vCenter.calls()).operations.Login, 1, `${operation}: ${fault}`)
    t.equal(lab.changes.length, before)
    await lab.stop()
  }
})

t.test('a login that succeeds while we stop is ended too', async (t) => {
  const lab = await openLab(t, {
    before: (vCenter) => vCenter.fault({ operation: 'Login', kind: 'delay', milliseconds: 700 }),
  })
  await until('the login', async () => (await lab.vCenter.calls()).operations.Login === 1)
  await lab.stop()
  t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 })
})
