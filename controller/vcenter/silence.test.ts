/** A vCenter that takes calls and does not answer them. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { startNameServer, type Zone } from '../../test/fixtures/name-server.ts'
import { until } from '../../test/fixtures/until.ts'
import type { Vcsim } from '../../test/servers/vcsim.ts'
import { answered, type Lab, NEVER, openLab, QUICK, vmAt } from './testing/lab.ts'
import { openConnection } from './wire/connection.ts'
import { createNames } from './wire/names.ts'

t.test('a vCenter that hangs is told as soon as a small call was waited for in vain', async (t) => {
  const cases: readonly [string, number, readonly string[]][] = [
    ['one is looked for', 1, ['*']],
    ['a view is made', 12, ['*']],
    ['all is read', 12, ['RetrievePropertiesEx', 'CurrentTime']],
  ]
  for (const [name, newcomers, operations] of cases) {
    // Neither the grace nor the deadline of a big call is over before the whole file is given up.
    const timings = { ...QUICK, callDeadline: 1_000, failureGrace: NEVER, readDeadline: NEVER }
    const lab = await openLab(t, { timings })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > 0)
    await sleep(QUICK.locate.spacing)
    for (const operation of operations) await lab.vCenter.fault({ operation, kind: 'hang' })
    for (let i = 0; i < newcomers; i++) lab.inventory.follow(`42000000-0000-4000-8000-${100000000000 + i}`)
    t.match(
      await until('a failure', () => lab.inventory.failure()),
      { reason: 'TimedOut', message: /within 1 s/ },
      name,
    )
    t.notOk(lab.inventory.connected())
    await lab.vCenter.clearFaults()
    await answered(lab, uuid)
    await lab.stop()
  }
})

t.test('a VM that vanishes while vCenter hangs is known to have been shown before that alone', async (t) => {
  const timings = { ...QUICK, callDeadline: 1_000 }
  const lab = await openLab(t, { timings })
  const [before, during] = await lab.vCenter.vms()
  if (before === undefined || during === undefined) throw new Error('the simulator has too few VMs')
  const shownUntil = (uuid: string) => {
    const lookup = lab.inventory.lookup(uuid)
    return lookup.state === 'answered' && lookup.shownUntil
  }
  for (const [index, { uuid }] of [before, during].entries()) {
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    t.equal(shownUntil(uuid), undefined)
    await until('watching', async () => ((await lab.vCenter.calls()).operations.ModifyListView ?? 0) > index)
  }
  const destroyedAt = systemClock.monotonic()
  await lab.vCenter.destroy(before.ref)
  t.ok((await until('its loss', () => shownUntil(before.uuid))) > destroyedAt)
  await lab.vCenter.fault({ operation: '*', kind: 'hang' })
  lab.inventory.follow('42000000-0000-4000-8000-100000000000')
  await until('a failure', () => lab.inventory.failure())
  const hangs = systemClock.monotonic()
  await lab.vCenter.destroy(during.ref)
  await lab.vCenter.clearFaults()
  t.ok((await until('the loss of the other', () => shownUntil(during.uuid))) < hangs)
})

t.test('a big call may take long while vCenter answers small ones', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, readDeadline: NEVER } })
  const { uuid } = await vmAt(lab, 0)
  await until('the datacenters are read', () => lab.inventory.datacenters() !== undefined)
  await lab.vCenter.fault({ operation: 'RetrievePropertiesEx', kind: 'delay', milliseconds: NEVER, times: 1 })
  lab.inventory.follow(uuid)
  await until(
    'it was asked beside it',
    async () => ((await lab.vCenter.calls()).operations.CurrentTime ?? 0) >= 4,
  )
  await lab.vCenter.clearFaults()
  await answered(lab, uuid)
  const { operations } = await lab.vCenter.calls()
  t.equal(operations.CreateListView, 1)
})

t.test('stops without waiting for any call', async (t) => {
  const timings = {
    ...QUICK,
    callDeadline: NEVER,
    readDeadline: NEVER,
    pollWait: NEVER,
    pollGrace: NEVER,
    resync: NEVER,
  }
  const watching = async () => {
    const lab = await openLab(t, { timings })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    await until('a poll', async () => ((await lab.vCenter.calls()).operations.WaitForUpdatesEx ?? 0) > 1)
    return lab
  }
  await t.test('a poll', async (t) => {
    const lab = await watching()
    await lab.stop()
    t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 })
  })
  await t.test('vCenter hangs: when the time for logging out is over', async (t) => {
    const lab = await watching()
    await lab.vCenter.fault({ operation: '*', kind: 'hang' })
    await lab.stop()
    t.match(lab.log.join(''), /"error":"it took too long".*could not be ended/)
  })
  await t.test('vCenter hangs from the start: there is no session to be ended', async (t) => {
    const before = (vCenter: Vcsim) => vCenter.fault({ operation: '*', kind: 'hang' })
    const lab = await openLab(t, { timings, before })
    const asked = async () => (await lab.vCenter.calls()).operations.RetrieveServiceContent
    await until('the first call', asked)
    await lab.stop()
    t.notMatch(lab.log.join(''), /could not be ended/)
  })
})

t.test('vCenters for whose names DNS does not answer do not keep one that is well', async (t) => {
  const zone: Zone = new Map([['here.example', ['127.0.0.1']]])
  const nameServer = await startNameServer(zone)
  t.teardown(() => nameServer.close())
  const empty = t.testdir({ hosts: '', resolver: '' })
  const sources = {
    hostsFile: `${empty}/hosts`,
    resolverFile: `${empty}/resolver`,
    servers: [nameServer.address],
  }
  const open = (server: string) =>
    openLab(t, {
      simulator: { vms: 1 },
      config: { server, trust: { kind: 'insecure' } },
      openConnection(options) {
        const ending = new AbortController()
        t.teardown(() => ending.abort())
        const names = createNames({ clock: systemClock, signal: ending.signal, sources })
        return openConnection({ ...options, names })
      },
    })
  const hanging: Lab[] = []
  for (const name of ['one.example', 'two.example']) {
    zone.set(name, 'silent')
    hanging.push(await open(name))
    await until('it is asked for', () => nameServer.asked.includes(name))
  }
  const lab = await open('here.example')
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  for (const { inventory } of hanging)
    t.match(await until('its failure', () => inventory.failure()), {
      reason: 'Unreachable',
      message: /name for which DNS does not answer/,
    })
  t.notMatch(lab.log.join(''), /vCenter failed/)
  t.ok(lab.inventory.connected())
})
