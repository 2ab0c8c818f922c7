/** Sessions and what is made in them: refused, ended, lost. */
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { Secret } from '../config/secret.ts'
import { openInventory } from './inventory.ts'
import {
  FAKE_VCENTER,
  type FakeAnswer,
  fakeConnection,
  fault,
  operationOf,
  soap,
} from './testing/fake-connection.ts'
import { answered, type Lab, NEVER, openLab, QUICK, told, vmAt, vmsOf } from './testing/lab.ts'
import { testLogins } from './testing/logins.ts'

const refused = ({ inventory }: Lab) =>
  until('the password is refused', () => {
    const failure = inventory.failure()
    return failure?.reason === 'InvalidLogin' && failure
  })

/** Wakes what rests until another attempt is due, and waits until it has failed again. */
async function wake({ inventory, log }: Lab): Promise<void> {
  const failures = () => log.filter((line) => line.includes('vCenter failed')).length
  const before = failures()
  inventory.passwordChanged()
  await until('it has failed again', () => failures() > before)
}

/** An inventory whose clock is turned by hand, and a vCenter that has no session for any call after the login. */
function atHand(t: Test, login: FakeAnswer) {
  const objects = ['rootFolder', 'propertyCollector', 'viewManager', 'searchIndex']
  const references = [...objects, 'sessionManager', 'authorizationManager']
    .map((name) => `<${name} type="T">${name}</${name}>`)
    .join('')
  const content = `${references}<about><apiType>VirtualCenter</apiType><instanceUuid>i</instanceUuid></about>`
  const body = soap(
    `<RetrieveServiceContentResponse><returnval>${content}</returnval></RetrieveServiceContentResponse>`,
  )
  const clock = createHandClock()
  const logins: number[] = []
  const inventory = openInventory({
    config: FAKE_VCENTER,
    categories: {},
    userAgent: 'rollcall-controller/test',
    clock,
    random: () => 0,
    logger: pino({ level: 'silent' }),
    logins: testLogins({ clock, random: () => 0 }),
    metrics: { call() {}, reconnect() {}, resynced() {}, unwatched() {} },
    onChange() {},
    openConnection: () =>
      fakeConnection((request) => {
        const operation = operationOf(request)
        if (operation === 'RetrieveServiceContent') return { body }
        if (operation !== 'Login') return fault('NotAuthenticated')
        logins.push(clock.monotonic())
        return login
      }),
  })
  const end = new AbortController()
  const running = inventory.run(end.signal)
  t.teardown(async () => {
    end.abort()
    await running
  })
  return { clock, logins }
}

t.test('a wrong password is tried once, and then rests', async (t) => {
  const lab = await openLab(t, { config: { password: new Secret('wr<o>&ng') } })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  t.match(await refused(lab), { vCenter: 'lab', message: /administrator@vsphere.local/ })
  t.match(lab.inventory.lookup(uuid), { state: 'unknown', failure: { reason: 'InvalidLogin' } })
  t.ok(lab.changes.some((uuids) => uuids.has(uuid)))
  lab.inventory.recheck(uuid)
  for (let i = 0; i < 3; i++) await wake(lab)
  // On a busy machine vCenter is also asked whether it lives.
  const { CurrentTime: _, ...calls } = (await lab.vCenter.calls()).operations
  t.same(calls, { RetrieveServiceContent: 1, Login: 1 })
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
  await refused(lab)
  for (let i = 0; i < 3; i++) await wake(lab)
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  t.match(lab.inventory.lookup(uuid), { state: 'unknown' })
})

t.test('sessions that end are made anew, once', async (t) => {
  const lab = await openLab(t, { simulator: { vms: 20 }, timings: { ...QUICK, failureGrace: NEVER } })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  for (const { uuid } of vms) await answered(lab, uuid)
  await told(lab, ...vms.map(({ uuid }) => uuid))
  const before = lab.changes.length
  await lab.vCenter.endSessions()
  await until('a login', async () => (await lab.vCenter.calls()).operations.Login === 2)
  const [, , , changed] = vms
  if (changed === undefined) throw new Error('the simulator has too few VMs')
  await lab.vCenter.setState({ vm: changed.ref, powerState: 'suspended' })
  await until('push', () => vmsOf(lab.inventory.lookup(changed.uuid))?.[0]?.powerState === 'suspended')
  const seen = lab.changes.slice(before).map((uuids) => [...uuids])
  t.same(new Set(seen.flat()), new Set([changed.uuid]), 'of the session nobody noticed')
  t.same(await lab.vCenter.sessions(), { soap: 1, rest: 0 }, 'the REST session waits until it is needed')
  await lab.stop()
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
})

t.test('a session that ends between two pages is made anew, once', async (t) => {
  const lab = await openLab(t, {
    simulator: { vms: 1_100 },
    before: (vCenter) =>
      vCenter.fault({
        operation: 'ContinueRetrievePropertiesEx',
        kind: 'delay',
        milliseconds: NEVER,
        times: 1,
      }),
    timings: { ...QUICK, readDeadline: NEVER },
  })
  const vms = await lab.vCenter.vms()
  for (const { uuid } of vms) lab.inventory.follow(uuid)
  const { operations } = await until('the second page', async () => {
    const calls = await lab.vCenter.calls()
    return calls.operations.ContinueRetrievePropertiesEx === 1 && calls
  })
  t.equal(operations.Login, 1)
  await lab.vCenter.endSessions()
  await lab.vCenter.clearFaults()
  await until('all', () => vms.every(({ uuid }) => vmsOf(lab.inventory.lookup(uuid))?.length === 1))
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  t.equal((await lab.vCenter.sessions()).soap, 1)
})

t.test('logins that bring no session are made at a pace', async (t) => {
  const accepted = {
    body: soap('<LoginResponse><returnval/></LoginResponse>'),
    cookies: ['vmware_soap_session=c'],
  }
  const { clock, logins } = atHand(t, accepted)
  await clock.turn(120_000)
  const pauses = logins.slice(1).map((at, index) => at - (logins[index] ?? 0))
  t.same(pauses, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
})

t.test('a password that is refused rests for a quarter of an hour', async (t) => {
  const { clock, logins } = atHand(t, fault('InvalidLogin'))
  await clock.turn(3_000_000)
  t.same(logins, [0, 900_000, 1_800_000, 2_700_000])
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
    await told(lab, uuid, second.uuid, third.uuid)
    await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
    const before = lab.changes.length
    await lab.vCenter.fault({ operation, kind: 'fault', fault, times: 1 })
    lab.inventory.unfollow(second.uuid)
    await until('a new list', async () => (await lab.vCenter.calls()).operations.CreateListView === 2)
    await sleep(300)
    t.equal((await lab.vCenter.calls()).operations.Login, 1, `${operation}: ${fault}`)
    t.equal(lab.changes.length, before)
    await lab.stop()
  }
})

t.test('what was made before a call that fails is destroyed in the session, which goes on', async (t) => {
  for (const [operation, times, views] of [
    ['CreateListView', 1, 0],
    ['CreatePropertyCollector', 1, 1],
    ['WaitForUpdatesEx', 2, 2],
  ] as const) {
    const lab = await openLab(t, {
      before: (vCenter) => vCenter.fault({ operation, kind: 'fault', fault: 'SystemError', times }),
    })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await until('a new list', async () => (await lab.vCenter.calls()).operations.CreateListView === 2)
    await answered(lab, uuid)
    const { operations } = await lab.vCenter.calls()
    t.equal(operations.Login, 1, operation)
    t.equal(operations.DestroyView ?? 0, views, operation)
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
