import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { pino } from 'pino'
import t from 'tap'
import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { Secret } from '../../config/secret.ts'
import type { PropertyReader } from '../collect/retrieve-properties.ts'
import {
  FAKE_VCENTER,
  type FakeAnswer,
  fakeConnection,
  fault,
  operationOf,
  soap,
} from '../testing/fake-connection.ts'
import { attemptsInMemory, testLogins } from '../testing/logins.ts'
import { TIMINGS, type Timings } from '../timings.ts'
import { SessionManagerError, VCenterError } from '../wire/errors.ts'
import { createSoapClient } from '../wire/soap.ts'
import { readXML } from '../wire/xml.ts'
import type { RequestTicket } from './clone-ticket.ts'
import type { LoginLimiter } from './login-limiter.ts'
import { openClients } from './open-clients.ts'
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

function content(apiType = 'VirtualCenter', references = REFERENCES, instanceUUID = 'ABC'): FakeAnswer {
  const about = `<about><fullName>VMware X</fullName><apiType>${apiType}</apiType><instanceUuid>${instanceUUID}</instanceUuid></about>`
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

/** For sessions that are logged in to. */
const noTicket: RequestTicket = () => {
  throw new Error('a ticket was requested')
}

interface SetUp {
  readonly config?: Partial<VCenterConfig>
  readonly requestTicket?: RequestTicket
  readonly logins?: LoginLimiter
  readonly timings?: Timings
  readonly onSlowLogin?: () => void
  readonly clock?: Clock
  readonly hasPredecessors?: boolean
}

function setUp(
  answers: Record<string, (attempt: number) => FakeAnswer | Promise<FakeAnswer>> = {},
  {
    config: changes = {},
    requestTicket = noTicket,
    logins = testLogins(),
    timings = TIMINGS,
    onSlowLogin = () => undefined,
    clock = systemClock,
    hasPredecessors = false,
  }: SetUp = {},
) {
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
  const config: VCenterConfig = {
    name: 'lab',
    server: 'vc.test',
    port: 443,
    user: 'DOM\\u&r',
    password: new Secret('p<w'),
    trust: { kind: 'system' },
    datacenters: [],
    ...changes,
  }
  const session = createSession({
    soap: createSoapClient({ connection, clock, random: () => 0.5, metrics }),
    config,
    timings,
    onSlowLogin,
    clock,
    userAgent: 'rollcall-controller/test (1)',
    hasPredecessors,
    logger: pino({ level: 'silent' }),
    logins,
    requestTicket,
    loginSignal: signal,
  })
  return { session, config, counts, signal, connection }
}

t.test('a login counts as slow once it was sent, however long it took to get there', async (t) => {
  const told: number[] = []
  const slow = Promise.withResolvers<void>()
  const { session, counts, signal } = setUp(
    {
      RetrieveServiceContent: () => sleep(100).then(() => content()),
      Login: () => slow.promise.then(() => LOGGED_IN),
    },
    {
      timings: { ...TIMINGS, callDeadline: 20 },
      onSlowLogin() {
        told.push(counts.Login ?? 0)
        slow.resolve()
      },
    },
  )
  await session.ensure(signal)
  t.same(told, [1])
})

t.test('one login serves until the session is lost', async (t) => {
  const { session, counts, signal, connection } = setUp()
  const first = await session.ensure(signal)
  t.match(first, { instanceUUID: 'abc', searchIndex: { type: 'T', value: 'searchIndex-1' } })
  t.equal(await session.ensure(signal), first, 'the same as long as the session lives')
  t.match(counts, { Login: 1, CurrentTime: 1 })
  session.lost()
  t.not(await session.ensure(signal), first)
  t.match(counts, { RetrieveServiceContent: 4, Login: 2, CurrentTime: 1 })
  t.match(
    connection.requests.find((each) => operationOf(each) === 'Login')?.body,
    /<userName>DOM\\u&amp;r<.*<password>p&lt;w</,
  )
  await session.logout(signal)
  await session.logout(signal)
  t.equal(counts.Logout, 1)
})

t.test('a session may be in another vCenter than was asked before the login', async (t) => {
  const { session, counts, signal } = setUp({
    RetrieveServiceContent: (attempt) =>
      attempt === 2
        ? fault('SystemError')
        : content('VirtualCenter', REFERENCES, attempt === 1 ? 'ABC' : 'DEF'),
  })
  await t.rejects(session.ensure(signal), { message: /SystemError/ })
  t.match(await session.ensure(signal), { instanceUUID: 'def' })
  t.match(counts, { Login: 1, RetrieveServiceContent: 3 }, 'it is asked in the session that there is')
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

t.test('nor does a refusal elsewhere hold back a session that lives', async (t) => {
  const logins = testLogins()
  const { session, counts, config, signal } = setUp(
    {
      CurrentTime: (attempt) =>
        attempt === 1 ? { body: soap('<CurrentTimeResponse/>') } : fault('NotAuthenticated'),
    },
    { logins },
  )
  await session.ensure(signal)
  const refuse = () => Promise.reject(new VCenterError('InvalidLogin', 'refused'))
  await t.rejects(logins.login({ account: config, by: 'SOAP', send: refuse, signal }))
  t.notOk(session.pause())
  await session.ensure(signal)
  await t.rejects(session.ensure(signal), { reason: 'InvalidLogin', message: /will be retried/ })
  t.ok(session.pause())
  t.match(counts, { Login: 1, CurrentTime: 2 })
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

t.test('a login that is turned away leaves no session, and one that a proxy answers may', async (t) => {
  for (const [status, mayHaveLost] of [
    [503, false],
    [502, true],
  ] as const) {
    const { session, signal } = setUp({ Login: () => ({ status, body: '' }) })
    await t.rejects(session.ensure(signal), { reason: 'Unavailable', message: new RegExp(`${status}`) })
    t.equal(session.mayHaveLost(), mayHaveLost, `${status}`)
  }
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

const BY_MANAGER: Partial<VCenterConfig> = {
  user: '',
  password: new Secret('hunter-token'),
  sessionManager: 'https://manager.test/hunter',
  userSource: 'the Secret n/s under "vc.vc-session-manager-url"',
}
const CLONED: FakeAnswer = {
  body: soap('<CloneSessionResponse><returnval><key>k1</key></returnval></CloneSessionResponse>'),
  cookies: ['vmware_soap_session=c1; Path=/'],
}

t.test('with a session manager a session is cloned, each with a ticket of its own', async (t) => {
  const asked: string[] = []
  const { session, counts, signal, connection } = setUp(
    { CloneSession: () => CLONED },
    {
      config: BY_MANAGER,
      async requestTicket(url, token) {
        asked.push(`${url} ${token.reveal()}`)
        return new Secret(`t<${asked.length}`)
      },
    },
  )
  await session.ensure(signal)
  await session.ensure(signal)
  t.match(session.lastLogin(), { key: 'k1' })
  session.lost()
  await session.ensure(signal)
  t.match(counts, { CloneSession: 2, CurrentTime: 1 })
  t.equal(counts.Login, undefined)
  t.same(asked, Array(2).fill('https://manager.test/hunter hunter-token'))
  const clones = connection.requests.filter((each) => operationOf(each) === 'CloneSession')
  t.match(clones[1]?.body, /<cloneTicket>t&lt;2</)
})

t.test('a clone may take as long as a login, and is reported meanwhile', async (t) => {
  const slow = Promise.withResolvers<void>()
  const { session, signal, connection } = setUp(
    { CloneSession: () => slow.promise.then(() => CLONED) },
    {
      config: BY_MANAGER,
      requestTicket: async () => new Secret('ticket'),
      timings: { ...TIMINGS, callDeadline: 20 },
      onSlowLogin: () => slow.resolve(),
    },
  )
  await session.ensure(signal)
  t.match(
    connection.requests.find((each) => operationOf(each) === 'CloneSession'),
    { deadline: TIMINGS.loginDeadline },
  )
})

t.test('a session manager that takes as long is reported as well', async (t) => {
  const slow = Promise.withResolvers<void>()
  const { session, signal, counts } = setUp(
    { CloneSession: () => CLONED },
    {
      config: BY_MANAGER,
      requestTicket: () => slow.promise.then(() => new Secret('ticket')),
      timings: { ...TIMINGS, callDeadline: 20 },
      onSlowLogin: () => slow.resolve(),
    },
  )
  await session.ensure(signal)
  t.equal(counts.CloneSession, 1)
})

/** A list of sessions as vCenter has it at the moment: the keys, each with its user agent. */
function listing(sessions: () => Record<string, string>): PropertyReader {
  return {
    async read(_, take) {
      const list = Object.entries(sessions()).map(
        ([key, userAgent]) =>
          `<UserSession><key>${key}</key><userAgent>${userAgent}</userAgent></UserSession>`,
      )
      const sessionList = await readXML(Readable.from([Buffer.from(`<all>${list.join('')}</all>`)]), 'all')
      take({
        reference: { type: 'SessionManager', value: 'sessionManager-1' },
        properties: new Map([['sessionList', sessionList]]),
        missing: new Map(),
        excess: undefined,
      })
    },
  }
}

const OWN = 'rollcall-controller/test (1)'

function setUpLost(clock = systemClock) {
  const made = setUp(
    {
      CloneSession: (attempt) => (attempt === 1 ? { status: 504, body: '' } : CLONED),
      TerminateSession: () => ({ body: soap('<TerminateSessionResponse/>') }),
    },
    { config: BY_MANAGER, requestTicket: async () => new Secret('ticket'), clock },
  )
  const ended = () =>
    made.connection.requests
      .filter((each) => operationOf(each) === 'TerminateSession')
      .map(({ body }) => body?.match(/(?<=<sessionId>)[^<]*/g))
  return { ...made, ended }
}

t.test('the answer to a clone is lost: the session of the next one ends that of the first', async (t) => {
  const { session, signal, ended } = setUpLost()
  await t.rejects(session.ensure(signal), { reason: 'TimedOut', message: /504/ })
  t.ok(session.mayHaveLost())
  await session.ensure(signal)
  await session.endLost(
    listing(() => ({ k0: OWN, k1: OWN, k2: 'another' })),
    signal,
  )
  t.same(ended(), [['k0']])
})

t.test(
  'a process that ended within a clone: the next one ends its session, also after an upgrade',
  async (t) => {
    const attempts = attemptsInMemory()
    const replica = () => ({
      config: BY_MANAGER,
      requestTicket: async () => new Secret('ticket'),
      logins: testLogins({ attempts }),
      hasPredecessors: true,
    })
    const answer = Promise.withResolvers<FakeAnswer>()
    const ending = setUp({ CloneSession: () => answer.promise }, replica())
    const ensuring = ending.session.ensure(ending.signal)
    await until('it is sent', () => ending.counts.CloneSession === 1)

    const answers = {
      CloneSession: () => CLONED,
      TerminateSession: () => ({ body: soap('<TerminateSessionResponse/>') }),
    }
    const before = 'rollcall-controller/before (1)'
    const sessions = listing(() => ({ k0: before, k1: OWN, k2: 'rollcall-controller/test (2)' }))
    const next = setUp(answers, replica())
    await next.session.ensure(next.signal)
    await next.session.endLost(sessions, next.signal)
    t.match(next.connection.requests.at(-1)?.body, /<sessionId>k0<\/sessionId><\/TerminateSession>/)

    // Its login has been answered, so nobody else looks.
    const last = setUp(answers, replica())
    await last.session.ensure(last.signal)
    t.notOk(last.session.mayHaveLost())
    answer.resolve(CLONED)
    await ensuring
  },
)

t.test('a login that vCenter still works on is looked for until it cannot be any more', async (t) => {
  const clock = createHandClock()
  const { session, signal, ended } = setUpLost(clock)
  await t.rejects(session.ensure(signal))
  await session.ensure(signal)
  let sessions: Record<string, string> = { k1: OWN }
  let looks = 0
  const reader = listing(() => {
    looks++
    return sessions
  })
  await session.endLost(reader, signal)
  t.same(ended(), [])
  sessions = { k0: OWN, k1: OWN }
  await clock.turn(TIMINGS.loginDeadline)
  await session.endLost(reader, signal)
  t.same(ended(), [['k0']])
  await clock.turn(1)
  t.ok(session.mayHaveLost())
  await session.endLost(reader, signal)
  t.notOk(session.mayHaveLost())
  await session.endLost(reader, signal)
  t.equal(looks, 3, 'the last look was made')
})

t.test('what a session manager fails with is said, held back, and holds no secret', async (t) => {
  const cases: readonly [string, RequestTicket, string, RegExp][] = [
    [
      'it refuses the token',
      () => Promise.reject(new VCenterError('InvalidLogin', 'HTTP status 401')),
      'InvalidLogin',
      /^the session manager of the Secret n\/s under "vc\.vc-session-manager-url" refuses the configured token; will be retried at \d\d:\d\d UTC so that .*; check the token/,
    ],
    [
      'it has no ticket',
      () => Promise.reject(new SessionManagerError('no ticket; see its log', { asked: true })),
      'SessionManagerFailed',
      /^no ticket; see its log; will be retried at \d\d:\d\d UTC so that the account is not locked out$/,
    ],
    [
      'vCenter refuses the ticket',
      async () => new Secret('hunter-ticket'),
      'SessionManagerFailed',
      /^vc\.test:443 refuses the ticket of its session manager; check .*; will be retried at/,
    ],
  ]
  for (const [what, requestTicket, reason, message] of cases) {
    const answers = { CloneSession: () => fault('InvalidLogin', '', 'no such ticket: hunter-ticket') }
    let asked = 0
    const counted: RequestTicket = (...args) => {
      asked += 1
      return requestTicket(...args)
    }
    const { session, signal } = setUp(answers, { config: BY_MANAGER, requestTicket: counted })
    await t.rejects(session.ensure(signal), { reason, message }, what)
    const failure = await session.ensure(signal).catch((error: unknown) => error)
    t.notMatch(inspect(failure, { depth: 9 }), /hunter/)
    t.equal(asked, 1, 'not asked again at once')
    t.ok(session.pause())
  }
})

t.test('a session manager that is not there may be asked again at once', async (t) => {
  const requestTicket: RequestTicket = () =>
    Promise.reject(new SessionManagerError('cannot be reached', { asked: false }))
  const { session, signal } = setUp({}, { config: BY_MANAGER, requestTicket })
  for (let i = 0; i < 20; i++)
    await t.rejects(session.ensure(signal), { reason: 'SessionManagerFailed', message: 'cannot be reached' })
  t.notOk(session.pause())
})

t.test('an expired password, and a certificate that is refused, are refused logins', async (t) => {
  for (const [name, advice] of [
    ['PasswordExpired', /; the password has expired: set a new one in vCenter, and configure it$/],
    ['InvalidClientCertificate', /; check user and password$/],
  ] as const) {
    const { session, counts, signal } = setUp({ Login: () => fault(name) })
    for (let i = 0; i < 3; i++)
      await t.rejects(session.ensure(signal), { reason: 'InvalidLogin', message: advice }, name)
    t.equal(counts.Login, 1)
  }
})

t.test('requests say what they accept', async (t) => {
  const { session, connection, signal } = setUp()
  await session.ensure(signal)
  for (const { headers } of connection.requests) t.equal(headers.accept, 'text/xml')
})

t.test('a ticket may take as long as a login', async (t) => {
  const connection = fakeConnection((request) =>
    request.method === 'GET'
      ? { body: '{"token":"ticket"}' }
      : operationOf(request) === 'CloneSession'
        ? CLONED
        : content(),
  )
  const { signal } = new AbortController()
  const { session } = openClients({
    config: { ...FAKE_VCENTER, ...BY_MANAGER },
    logins: testLogins(),
    loginSignal: signal,
    userAgent: 'rollcall-controller/test',
    metrics: { call() {}, reconnect() {}, resynced() {}, unwatched() {} },
    timings: TIMINGS,
    clock: systemClock,
    random: () => 0.5,
    logger: pino({ level: 'silent' }),
    openConnection: () => connection,
  })
  await session.ensure(signal)
  t.match(
    connection.requests.find(({ method }) => method === 'GET'),
    { deadline: TIMINGS.loginDeadline },
  )
})
