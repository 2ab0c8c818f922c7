import { inspect } from 'node:util'
import { pino } from 'pino'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { Secret } from '../../config/secret.ts'
import { type FakeAnswer, fakeConnection, fault, operationOf, soap } from '../testing/fake-connection.ts'
import { testLogins } from '../testing/logins.ts'
import { TIMINGS } from '../timings.ts'
import { createSoapClient } from '../wire/soap.ts'
import { createSession } from './session.ts'

const REFERENCES = [
  'rootFolder',
  'propertyCollector',
  'viewManager',
  'searchIndex',
  'sessionManager',
  'authorizationManager',
]
  .map((name) => `<${name} type="T">${name}-1</${name}>`)
  .join('')

function content(apiType = 'VirtualCenter', references = REFERENCES): FakeAnswer {
  const about = `<about><fullName>VMware X</fullName><apiType>${apiType}</apiType><instanceUuid>ABC</instanceUuid></about>`
  return {
    body: soap(
      `<RetrieveServiceContentResponse><returnval>${references}${about}</returnval></RetrieveServiceContentResponse>`,
    ),
  }
}

const LOGGED_IN: FakeAnswer = {
  body: soap('<LoginResponse><returnval/></LoginResponse>'),
  cookies: ['vmware_soap_session=c1; Path=/'],
}

function setUp(answers: Record<string, (attempt: number) => FakeAnswer> = {}) {
  const counts: Record<string, number> = {}
  const all: typeof answers = {
    RetrieveServiceContent: () => content(),
    Login: () => LOGGED_IN,
    CurrentTime: () => ({ body: soap('<CurrentTimeResponse/>') }),
    Logout: () => ({ body: soap('<LogoutResponse/>') }),
    ...answers,
  }
  const connection = fakeConnection((request) => {
    const operation = operationOf(request)
    counts[operation] = (counts[operation] ?? 0) + 1
    return all[operation]?.(counts[operation]) ?? fault('MethodNotFound')
  })
  const metrics = { call() {}, reconnect() {}, resynced() {}, unwatched() {} }
  const { signal } = new AbortController()
  const session = createSession({
    soap: createSoapClient({ connection, clock: systemClock, random: () => 0.5, metrics }),
    config: {
      name: 'lab',
      server: 'vc.test',
      port: 443,
      user: 'DOM\\u&r',
      password: new Secret('p<w'),
      trust: { kind: 'system' },
      datacenters: [],
    },
    timings: TIMINGS,
    logger: pino({ level: 'silent' }),
    logins: testLogins(),
    loginSignal: signal,
  })
  return { session, counts, signal, connection }
}

t.test('one login serves until the session is lost', async (t) => {
  const { session, counts, signal, connection } = setUp()
  const first = await session.ensure(signal)
  t.match(first, { instanceUUID: 'abc', searchIndex: { type: 'T', value: 'searchIndex-1' } })
  t.equal(await session.ensure(signal), first, 'the same as long as the session lives')
  t.match(counts, { Login: 1, CurrentTime: 1 })
  session.lost()
  t.not(await session.ensure(signal), first)
  t.match(counts, { RetrieveServiceContent: 2, Login: 2, CurrentTime: 1 })
  t.match(
    connection.requests.find((each) => operationOf(each) === 'Login')?.body,
    /<userName>DOM\\u&amp;r<.*<password>p&lt;w</,
  )
  await session.logout(signal)
  await session.logout(signal)
  t.equal(counts.Logout, 1)
})

t.test('a session that ended meanwhile is noticed', async (t) => {
  const { session, counts, signal } = setUp({ CurrentTime: () => fault('NotAuthenticated') })
  await session.ensure(signal)
  await session.ensure(signal)
  t.match(counts, { Login: 2, CurrentTime: 1 })
})

t.test('a refused credential is not tried again at once', async (t) => {
  const { session, counts, signal } = setUp({
    Login: () => fault('InvalidLogin', '', 'Cannot complete login'),
  })
  for (let i = 0; i < 3; i++) {
    await t.rejects(session.ensure(signal), {
      reason: 'InvalidLogin',
      message: /^vc\.test:443 refuses the user DOM\\u&r [^<]*; will be retried at \d\d:\d\d UTC [^<]*$/,
    })
  }
  t.equal(counts.Login, 1)
  t.equal(counts.RetrieveServiceContent, 1, 'nothing else is asked either')
  t.ok(session.pause())
})

t.test('other failures of a login are not refusals', async (t) => {
  const { session, counts, signal } = setUp({
    Login: (attempt) => (attempt === 1 ? { status: 503, body: '' } : LOGGED_IN),
  })
  await t.rejects(session.ensure(signal), { reason: 'Unavailable', message: /503/ })
  t.notOk(session.pause())
  await session.ensure(signal)
  t.equal(counts.Login, 2)
})

t.test('the words of a refused login are not repeated: they may hold the password', async (t) => {
  const { session, signal } = setUp({ Login: () => fault('SystemError', '', 'no such user or p&lt;w') })
  await t.rejects(session.ensure(signal), { message: /the fault SystemError$/ })
  const failure = await session.ensure(signal).catch((error: unknown) => error)
  t.notMatch(inspect(failure, { depth: 9 }), /p<w|p&lt;w/)
})

t.test('what is no vCenter gets no password', async (t) => {
  for (const [answer, reason, message] of [
    [content('HostAgent'), 'NotVCenter', /is VMware X, not a vCenter/],
    [content('VirtualCenter', ''), 'MalformedAnswer', /lacks objects/],
    [{ status: 200, contentType: 'text/html', body: '<html/>' }, 'NotVCenter', /HTML/],
  ] as const) {
    const { session, counts, signal } = setUp({ RetrieveServiceContent: () => answer })
    await t.rejects(session.ensure(signal), { reason, message })
    t.equal(counts.Login, undefined)
  }
})
