/** Logins that take longer than any other call, or of which the answer is lost. */
import { pino } from 'pino'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import type { VcsimFault } from '../../test/servers/control.ts'
import { openClients } from './session/open-clients.ts'
import { answered, configOf, type LabOptions, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'
import { attemptsInMemory, testLogins } from './testing/logins.ts'

const REST_LOGIN = 'REST POST /rest/com/vmware/cis/session'
const REST_LOOK = 'REST GET /rest/com/vmware/cis/session'
const ZONE = { category: 'k8s-zone', tag: 'z', object: 'DC0_C0' }

t.test('a slow directory is waited for, and reported meanwhile', async (t) => {
  const slow = { kind: 'late', milliseconds: 10_000 } as const
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 5_000 },
    async before(vCenter) {
      await vCenter.tag(ZONE)
      await vCenter.fault({ operation: 'Login', ...slow })
      await vCenter.fault({ operation: REST_LOGIN, ...slow })
    },
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  t.match(await until('it is told', () => lab.inventory.failure()), {
    reason: 'TimedOut',
    waiting: true,
    message: /has not finished a login for 5 s, and has up to 300 s for it; .* identity source$/,
  })
  await answered(lab, uuid)
  t.equal(lab.inventory.failure(), undefined)
  await until('its zone', () => {
    const ancestry = vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry
    return ancestry?.compute.some(({ tags }) => tags[0]?.name === 'z')
  })
  const { operations } = await lab.vCenter.calls()
  t.equal(operations.Login, 1)
  t.equal(operations[REST_LOGIN], 1)
  t.same(await lab.vCenter.sessions(), { soap: 1, rest: 1 })
  const { soap, rest } = await lab.vCenter.clients()
  t.match(soap, [/^rollcall-controller/])
  t.same(rest, soap, 'both are known to be of one client')
})

t.test('a login by REST hangs: neither a failure nor the next session waits for it', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, failureGrace: 100 },
    async before(vCenter) {
      await vCenter.tag(ZONE)
      await vCenter.fault({ operation: REST_LOGIN, kind: 'hang' })
    },
  })
  const { vCenter, inventory } = lab
  const { uuid } = await vmAt(lab, 0)
  inventory.follow(uuid)
  await answered(lab, uuid)
  const calls = async (operation: string) => (await vCenter.calls()).operations[operation] ?? 0
  await until('a login by REST', async () => (await calls(REST_LOGIN)) === 1)
  await until('a poll', async () => (await calls('WaitForUpdatesEx')) > 0)
  for (const operation of ['WaitForUpdatesEx', 'CancelWaitForUpdates', 'CurrentTime'])
    await vCenter.fault({ operation, kind: 'status', status: 503 })
  t.match(await until('the failure', () => inventory.failure()), { reason: 'Unavailable' })
  await vCenter.endSessions()
  for (const { id, operation } of await vCenter.faults())
    if (operation !== REST_LOGIN) await vCenter.clearFaults(id)
  await until('another session', () => inventory.failure() === undefined)
  t.equal(await calls('Login'), 2)
  t.equal(await calls(REST_LOGIN), 1)
  await vCenter.clearFaults()
  await until('its zone', () => {
    const ancestry = vmsOf(inventory.lookup(uuid))?.[0]?.ancestry
    return ancestry?.compute.some(({ tags }) => tags[0]?.name === 'z')
  })
  await lab.stop()
  t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
})

async function inHangingLogin(t: Parameters<typeof openLab>[0]) {
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 1_000 },
    before: (vCenter) => vCenter.fault({ operation: 'Login', kind: 'hang' }),
  })
  const logins = async () => (await lab.vCenter.calls()).operations.Login ?? 0
  await until('a login', async () => (await logins()) === 1)
  return { lab, logins }
}

t.test('a vCenter that hangs in a login is not waited for as long', async (t) => {
  const { lab } = await inHangingLogin(t)
  await lab.vCenter.fault({ operation: '*', kind: 'hang' })
  const failure = await until('it is given up', () => {
    const last = lab.inventory.failure()
    return last?.waiting === true ? undefined : last
  })
  t.match(failure, { reason: 'TimedOut', message: /did not finish its answer within 1 s/ })
  await lab.vCenter.clearFaults()
  await until('another session', () => lab.inventory.connected())
})

for (const [what, beside] of [
  ['went away', { kind: 'status', status: 503 }],
  ['fail', { kind: 'fault', fault: 'SystemError' }],
] as const)
  t.test(`a login counts that is given up because services ${what} beside it`, async (t) => {
    const { lab, logins } = await inHangingLogin(t)
    await lab.vCenter.fault({ operation: 'CurrentTime', ...beside })
    const held = await until('no further one is made', () => {
      const last = lab.inventory.failure()
      return last !== undefined && 'retryAt' in last ? last : undefined
    })
    t.match(held, { reason: 'TimedOut', message: /4 got no answer lately/ })
    t.equal(await logins(), 4)
  })

t.test('a small call that fails once beside a login is no reason to give that up', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 1_000 },
    async before(vCenter) {
      await vCenter.fault({ operation: 'Login', kind: 'late', milliseconds: 3_000 })
      await vCenter.fault({ operation: 'CurrentTime', kind: 'fault', fault: 'SystemError', times: 1 })
    },
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  t.ok((await lab.vCenter.faults()).some(({ operation, hits }) => operation === 'CurrentTime' && hits === 1))
  t.equal((await lab.vCenter.calls()).operations.Login, 1)
})

t.test('a login that was given up because of a fault beside it is ended from the next session', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, callDeadline: 1_000 },
    async before(vCenter) {
      await vCenter.fault({ operation: 'Login', kind: 'late', milliseconds: 3_000, times: 1 })
      await vCenter.fault({ operation: 'CurrentTime', kind: 'fault', fault: 'SystemError', times: 2 })
    },
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  t.equal((await lab.vCenter.calls()).operations.Login, 2)
  await until('its session has ended', async () => (await lab.vCenter.sessions()).soap === 1)
})

const LOST: readonly [string, Omit<VcsimFault, 'operation'>, LabOptions['timings']][] = [
  [
    'after the longest that one may take',
    { kind: 'late', milliseconds: 2_500 },
    { ...QUICK, loginDeadline: 1_500 },
  ],
  ['by a proxy with a limit', { kind: 'lost', status: 504 }, QUICK],
  ['by Envoy with a limit', { kind: 'lost', status: 408 }, QUICK],
  ['by a proxy that closes the connection', { kind: 'lost' }, QUICK],
  ['in its middle', { kind: 'truncate' }, QUICK],
]
for (const [how, fault, timings = QUICK] of LOST) {
  t.test(`the answer to a login is lost ${how}: its session is ended`, async (t) => {
    const lab = await openLab(t, {
      timings: { ...timings, keepAlive: NEVER },
      before: (vCenter) => vCenter.fault({ operation: 'Login', ...fault, times: 1 }),
    })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    const failure = await until('a failure', () => lab.inventory.failure())
    t.not(failure.reason, 'InvalidLogin')
    t.notMatch(failure.message, /check user and password/)
    await answered(lab, uuid)
    t.equal((await lab.vCenter.calls()).operations.Login, 2)
    await until('one session', async () => (await lab.vCenter.sessions()).soap === 1)
    await lab.stop()
    t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 })
  })
}

t.test('a session that vCenter makes of a lost login only later is ended, too', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, keepAlive: 1_000 },
    before: (vCenter) => vCenter.fault({ operation: 'Login', kind: 'lost', status: 504, times: 1 }),
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  const { vCenter } = lab
  const alone = async () => (await vCenter.sessions()).soap === 1
  await until('one session', alone)
  const [client = ''] = (await vCenter.clients()).soap
  const number = Number.parseInt(/\((\w+)\)$/.exec(client)?.[1] ?? '', 16)
  const later = openClients({
    config: await configOf(vCenter),
    logins: testLogins(),
    loginSignal: new AbortController().signal,
    userAgent: 'rollcall-controller/test',
    metrics: { call() {}, reconnect() {}, resynced() {}, unwatched() {} },
    timings: QUICK,
    clock: systemClock,
    random: () => number / 2 ** 32,
    logger: pino({ level: 'silent' }),
  })
  t.teardown(() => later.connection.close())
  await later.session.ensure(new AbortController().signal)
  await until('the other one has ended', alone)
  t.same((await vCenter.clients()).soap, [client])
  t.equal(lab.inventory.failure(), undefined)
})

t.test('a login outlasts the end of a term: the next leader ends its session', async (t) => {
  const attempts = attemptsInMemory()
  const replica = () => ({ client: 'lease', logins: testLogins({ attempts }) })
  const first = await openLab(t, {
    ...replica(),
    before: (vCenter) => vCenter.fault({ operation: 'Login', kind: 'late', milliseconds: NEVER, times: 1 }),
  })
  const { vCenter } = first
  await until('a login', async () => (await vCenter.calls()).operations.Login === 1)
  await first.stop()
  t.same(await vCenter.sessions(), { soap: 1, rest: 0 }, 'nobody waits for the login')

  // Another controller with the same account.
  const stranger = await openLab(t, { vCenter, client: 'lease of another cluster' })
  await until('its session', async () => (await vCenter.sessions()).soap === 2)
  await vCenter.fault({ operation: 'Login', kind: 'late', milliseconds: NEVER, times: 1 })
  const second = await openLab(t, { vCenter, ...replica() })
  await until('a second login', async () => (await vCenter.sessions()).soap === 3)
  await second.stop()
  const third = await openLab(t, { vCenter, ...replica() })
  await until('both lost sessions have ended', async () => (await vCenter.sessions()).soap === 2)
  await third.stop()
  await stranger.stop()
  t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
})

for (const [how, fault, timings = QUICK] of LOST.slice(0, 4)) {
  t.test(
    `the answer to a REST login is lost ${how}: one session is left, however long that lasts`,
    async (t) => {
      const lab = await openLab(t, {
        timings,
        async before(vCenter) {
          await vCenter.tag(ZONE)
          await vCenter.fault({ operation: REST_LOGIN, ...fault, times: 1 })
          await vCenter.fault({ operation: REST_LOOK, kind: 'lost', status: 504 })
        },
      })
      const { uuid } = await vmAt(lab, 0)
      lab.inventory.follow(uuid)
      const calls = async (operation: string) => (await lab.vCenter.calls()).operations[operation] ?? 0
      await until('a look', async () => (await calls(REST_LOOK)) > 0)
      t.equal(await calls(REST_LOGIN), 1)
      await lab.vCenter.clearFaults()
      await until('its zone', () => {
        const ancestry = vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry
        return ancestry?.compute.some(({ tags }) => tags[0]?.name === 'z')
      })
      t.equal(await calls(REST_LOGIN), 2)
      await lab.stop()
      t.same(
        await lab.vCenter.sessions(),
        { soap: 0, rest: 1 },
        'vCenter has no list by which it could be found',
      )
    },
  )
}

t.test('the answer to a REST login is lost in its middle: its session is found again', async (t) => {
  const lab = await openLab(t, {
    async before(vCenter) {
      await vCenter.tag(ZONE)
      await vCenter.fault({ operation: REST_LOGIN, kind: 'truncate', times: 1 })
    },
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await until('its zone', () => {
    const ancestry = vmsOf(lab.inventory.lookup(uuid))?.[0]?.ancestry
    return ancestry?.compute.some(({ tags }) => tags[0]?.name === 'z')
  })
  t.equal((await lab.vCenter.calls()).operations[REST_LOGIN], 1)
  await lab.stop()
  t.same(await lab.vCenter.sessions(), { soap: 0, rest: 0 })
})
