import t from 'tap'
import { anySignal } from '../../../agent/shared/any-signal.ts'
import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import { bindingParents } from '../../types/virtual-machine.ts'
import { bind, ELSEWHERE, summary } from '../testing/bind.ts'
import { NEVER, openLab, QUICK, vmAt, vmsOf } from '../testing/lab.ts'

const { signal } = new AbortController()

const all = (reason: string) => ({
  moref: reason,
  instanceUUID: reason,
  biosUUID: reason,
  privileges: reason,
  canary: reason,
})

t.test('before the first session, and without one, nothing is asked', async (t) => {
  const lab = await openLab(t, {
    before: (vCenter) => vCenter.fault({ operation: 'Login', kind: 'fault', fault: 'InvalidLogin' }),
  })
  const first = await lab.inventory.probe(ELSEWHERE, signal)
  t.same(
    summary(first),
    all('NotConnected'),
    'it may be its own VM as long as vCenter has not said who it is',
  )
  t.match(first, { vCenter: 'lab', vCenterInstanceUUID: undefined, session: 0 })
  const failure = await until('a refusal', () => lab.inventory.failure())
  await lab.vCenter.resetCalls()
  t.same(summary(await lab.inventory.probe(ELSEWHERE, signal)), all('InvalidLogin'))
  t.equal(failure.reason, 'InvalidLogin')
  t.equal((await lab.vCenter.calls()).total, 0)
})

t.test('a session that ends is replaced once, however many probes meet its end', async (t) => {
  const lab = await openLab(t)
  const { vCenter, inventory } = lab
  const bound = await bind(lab, await vmAt(lab, 0))
  await vCenter.resetCalls()
  await vCenter.endSessions()
  const met = await Promise.all(Array.from({ length: 4 }, () => inventory.probe(bound, signal)))
  for (const probe of met) {
    t.same(summary(probe), all('SessionLost'))
    t.equal(probe.session, 1)
  }
  const between = await inventory.probe(bound, signal)
  t.same(summary(between), all('SessionLost'), 'nothing is asked between two sessions')
  const next = await until('another session', async () => {
    const probe = await inventory.probe(bound, signal)
    return probe.session === 2 && probe
  })
  t.match(summary(next), { moref: bound.moref, canary: 'proven' })
  t.match(await vCenter.calls(), { operations: { Login: 1 } })
  t.same(await vCenter.sessions(), { soap: 1, rest: 0 })
  t.equal(inventory.failure(), undefined)
})

t.test('a session whose end only probes have met is replaced too', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, pollWait: 60_000 } })
  const { vCenter, inventory } = lab
  const bound = await bind(lab, await vmAt(lab, 0))
  await vCenter.fault({
    operation: 'HasPrivilegeOnEntities',
    kind: 'fault',
    fault: 'NotAuthenticated',
    times: 4,
  })
  await vCenter.fault({ operation: 'CurrentTime', kind: 'fault', fault: 'NotAuthenticated' })
  await vCenter.resetCalls()
  const met = await Promise.all(Array.from({ length: 4 }, () => inventory.probe(bound, signal)))
  for (const probe of met) t.match(summary(probe), { privileges: 'SessionLost', canary: 'SessionLost' })
  // Whether the session lives is asked after the probes have ended.
  await until('a login', async () => (await vCenter.calls()).operations.Login === 1)
  await vCenter.clearFaults()
  const next = await until('another session', async () => {
    const probe = await inventory.probe(bound, signal)
    return probe.session === 2 && probe
  })
  t.match(summary(next), { moref: bound.moref, canary: 'proven' })
  t.match(await vCenter.calls(), { operations: { Login: 1 } })
})

t.test('a session that ends under a probe leaves the rest unknown', async (t) => {
  const lab = await openLab(t)
  const { vCenter, inventory } = lab
  const vm = await vmAt(lab, 0)
  const bound = await bind(lab, vm)
  inventory.follow(vm.uuid)
  await until('watching', async () => ((await vCenter.calls()).operations.ModifyListView ?? 0) > 0)
  // What is asked while nothing is missing has been asked.
  await until('the provability', () => {
    const ancestry = vmsOf(inventory.lookup(vm.uuid))?.[0]?.ancestry
    return ancestry && inventory.provable(bindingParents(ancestry))
  })
  await vCenter.resetCalls()
  await vCenter.fault({ operation: 'HasPrivilegeOnEntities', kind: 'hang' })
  const asking = inventory.probe(bound, signal)
  await until('the question', async () => (await vCenter.calls()).operations.HasPrivilegeOnEntities === 1)
  for (const operation of ['WaitForUpdatesEx', 'CurrentTime'])
    await vCenter.fault({ operation, kind: 'fault', fault: 'NotAuthenticated' })
  await vCenter.setGuestinfo({ vm: bound.moref, key: 'guestinfo.rollcall.claim', value: 'x' })
  const probe = await asking
  t.match(probe, { session: 1 })
  t.match(summary(probe), { moref: bound.moref, privileges: 'SessionLost', canary: 'SessionLost' })
  await vCenter.clearFaults()
  await until('another session', async () => {
    const next = await inventory.probe(bound, signal)
    return next.session !== probe.session && next.canary.state === 'proven'
  })
  t.equal((await vCenter.calls()).operations.Login, 1)
})

t.test('a vCenter that hangs is given up after one deadline, for all probes', async (t) => {
  const callDeadline = 3_000
  // It includes connecting, so on a busy machine it may be over before vCenter has seen all calls: the test ends the first ones.
  const over = new AbortController()
  const sleep: Clock['sleep'] = (ms, signal) =>
    ms === callDeadline && !over.signal.aborted
      ? systemClock.sleep(NEVER, anySignal([signal, over.signal]))
      : systemClock.sleep(ms, signal)
  // No poll of the inventory ends meanwhile, whose next one would hang and be counted among the probes' calls.
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline, pollWait: 60_000 },
    clock: { ...systemClock, sleep },
  })
  const { vCenter, inventory } = lab
  const bound = await bind(lab, await vmAt(lab, 0))
  // Nor does the inventory still read what it reads once in a session.
  await until('all that is read once', () => inventory.datacenters() && inventory.provableEverywhere())
  await vCenter.fault({ operation: '*', kind: 'hang' })
  await vCenter.resetCalls()
  const probes = Array.from({ length: 4 }, () => inventory.probe(bound, signal))
  const first = Promise.race(probes).then(() => 'one has ended')
  const asked = until(
    'all have asked',
    async () => (await vCenter.calls()).operations.RetrievePropertiesEx === probes.length,
  )
  t.not(await Promise.race([first, asked]), 'one has ended', 'they wait at the same time')
  over.abort()
  for (const probe of await Promise.all(probes)) t.same(summary(probe), all('TimedOut'))
  const { RetrievePropertiesEx, FindAllByUuid, HasPrivilegeOnEntities } = (await vCenter.calls()).operations
  t.same(
    { RetrievePropertiesEx, FindAllByUuid, HasPrivilegeOnEntities },
    { RetrievePropertiesEx: 4, FindAllByUuid: undefined, HasPrivilegeOnEntities: undefined },
    'each waits for one call',
  )
})

t.test('a probe that is given up ends at once', async (t) => {
  // What waits for a deadline does not end before the whole file is given up.
  const lab = await openLab(t, { timings: { ...QUICK, callDeadline: NEVER, readDeadline: NEVER } })
  const { vCenter, inventory } = lab
  const bound = await bind(lab, await vmAt(lab, 0))
  await vCenter.fault({ operation: 'RetrievePropertiesEx', object: bound.moref, kind: 'hang' })
  const giveUp = new AbortController()
  const asking = inventory.probe(bound, giveUp.signal)
  await until('the question', async () => ((await vCenter.faults())[0]?.hits ?? 0) > 0)
  giveUp.abort()
  t.same(summary(await asking), all('TimedOut'))
  t.same(summary(await inventory.probe(bound, giveUp.signal)), all('TimedOut'))
  await vCenter.clearFaults()
  t.match(summary(await inventory.probe(bound, signal)), { moref: bound.moref })
})

t.test('the end of the inventory ends probes, and says so', async (t) => {
  const lab = await openLab(t)
  const bound = await bind(lab, await vmAt(lab, 0))
  await lab.vCenter.fault({ operation: 'FindAllByUuid', kind: 'hang' })
  const asking = lab.inventory.probe(bound, signal)
  await until('the question', async () => ((await lab.vCenter.faults())[0]?.hits ?? 0) > 0)
  await lab.stop()
  t.match(summary(await asking), { moref: bound.moref, biosUUID: 'SessionLost', canary: 'SessionLost' })
  t.same(summary(await lab.inventory.probe(bound, signal)), all('NotConnected'))
  t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 })
})
