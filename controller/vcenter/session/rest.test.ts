import t from 'tap'
import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { FAKE_VCENTER, fakeConnection } from '../testing/fake-connection.ts'
import { testLogins } from '../testing/logins.ts'
import { TIMINGS } from '../timings.ts'
import type { Connection } from '../wire/connection.ts'
import { NotSentError, SoapFault, UnansweredError, VCenterError } from '../wire/errors.ts'
import { createRESTClient } from './rest.ts'

const { signal } = new AbortController()

function client(
  connection: Connection,
  config: Partial<VCenterConfig> = {},
  soapSession: () => string | undefined = () => undefined,
  clock: Clock = systemClock,
  soapAlive: () => Promise<void> = async () => undefined,
) {
  return createRESTClient({
    connection,
    config: { ...FAKE_VCENTER, ...config },
    timings: TIMINGS,
    clock,
    logins: testLogins(),
    metrics: { call() {}, reconnect() {}, resynced() {}, unwatched() {} },
    loginSignal: signal,
    soapSession,
    soapAlive,
  })
}

t.test('a session that no header can hold is none', async (t) => {
  const cases: readonly [unknown, boolean][] = [
    ['a1-b2:c3=', true],
    ['x'.repeat(256), true],
    ['x'.repeat(257), false],
    ['', false],
    ['a\r\nx-forged: 1', false],
    ['a b', false],
    ['\u00e9', false],
    [7, false],
  ]
  for (const [value, usable] of cases) {
    const connection = fakeConnection(({ path }) => ({
      body: JSON.stringify({ value: path.endsWith('session') ? value : 'ok' }),
    }))
    const rest = client(connection)
    const answer = await rest
      .call({ method: 'GET', resource: 'tagging/category', signal })
      .catch((error: unknown) => error)
    if (usable) t.equal(answer, 'ok')
    else t.match(answer, { reason: 'MalformedAnswer', message: /without a usable session/ })
    t.equal(connection.requests.length, usable ? 2 : 1)
  }
})

t.test('services that answer 404 while they start leave neither interface behind', async (t) => {
  const served = new Set<string>()
  const connection = fakeConnection(({ path }) => {
    const name = path.split('/')[1] ?? ''
    if (!served.has(name)) return { status: 404, body: '' }
    return { body: JSON.stringify(name === 'rest' ? { value: 'ok' } : 'ok') }
  })
  const rest = client(connection)
  const call = async () => await rest.call({ method: 'GET', resource: 'tagging/category', signal })
  await t.rejects(call(), { message: /404/ })
  served.add('rest')
  t.equal(await call(), 'ok', 'the older one, of a vCenter that has no other')
  served.delete('rest')
  served.add('api')
  t.equal(await call(), 'ok', 'the newer one')
  served.delete('api')
  served.add('rest')
  t.equal(await call(), 'ok', 'the older one again, as where a restored vCenter is older')
})

t.test('with a session manager the SOAP session is sent, and neither logged in nor out', async (t) => {
  let soap: string | undefined
  const status = { rest: 200, api: 404 }
  const connection = fakeConnection(({ path }) => {
    const name = path.startsWith('/rest/') ? 'rest' : 'api'
    return { status: status[name], body: JSON.stringify(name === 'rest' ? { value: name } : name) }
  })
  const rest = client(connection, { user: '', sessionManager: 'https://m/s' }, () => soap)
  const call = async () => await rest.call({ method: 'GET', resource: 'tagging/category', signal })
  const sent = () =>
    connection.requests.splice(0).map(({ method, path, headers }) => {
      t.equal(headers.authorization, undefined)
      return `${method} ${path} ${headers['vmware-api-session-id']}`
    })
  await t.rejects(call(), { reason: 'SessionLost', message: /a new clone is made/ })
  t.same(sent(), [], 'there is none')
  soap = 'one'
  t.equal(await call(), 'rest')
  soap = 'two'
  t.equal(await call(), 'rest')
  t.same(sent(), [
    'GET /rest/com/vmware/cis/tagging/category one',
    'GET /rest/com/vmware/cis/tagging/category two',
  ])
  Object.assign(status, { rest: 404, api: 200 })
  t.equal(await call(), 'api', 'of a vCenter that has the newer interface alone')
  t.same(sent(), [
    'GET /rest/com/vmware/cis/tagging/category two',
    'GET /rest/com/vmware/cis/session two',
    'GET /rest/com/vmware/cis/tagging/category two',
    'GET /api/cis/tagging/category two',
  ])
  status.api = 401
  await t.rejects(call(), {
    reason: 'SessionLost',
    message: /vSphere 8\.0 U3 or later, else give user and password/,
  })
  t.equal(sent().length, 1, 'no second attempt')
  await rest.logout(signal)
  t.same(sent(), [], "the session is SOAP's to end")
})

/** A vCenter with a category that may not be read, and one that is gone; its sessions end when told so. */
function sharedVCenter(lookAnswers: (live: boolean) => number | 'null', clock: Clock = systemClock) {
  const live = new Set<string>()
  let sessions = 0
  const connection = fakeConnection(({ method, path, headers }) => {
    const key = headers['vmware-api-session-id'] ?? ''
    const resource = path.replace('/rest/com/vmware/cis/', '')
    const value = (value: unknown) => ({ body: JSON.stringify({ value }) })
    if (resource === 'session' && method === 'POST') {
      live.add(`s${++sessions}`)
      return value(`s${sessions}`)
    }
    if (resource === 'session' && method === 'DELETE') {
      live.delete(key)
      return value(null)
    }
    if (resource === 'session') {
      const status = lookAnswers(live.has(key))
      return status === 'null' ? value(null) : { ...value({ user: 'u' }), status }
    }
    if (!live.has(key)) return { status: 403, body: '' }
    if (resource === 'tagging/category') return value(['gone', 'foreign', 'own'])
    if (resource.endsWith('gone')) return { status: 404, body: '' }
    if (resource.endsWith('foreign')) return { status: 403, body: '' }
    return value({ name: 'own' })
  })
  const count = (what: string) =>
    connection.requests.filter(({ method, path }) => `${method} ${path.split('/').at(-1)}` === what).length
  const rest = client(connection, {}, undefined, clock)
  const read = async (id: string) =>
    await rest
      .call({ method: 'GET', resource: 'tagging/category', id, signal })
      .catch((error: unknown) => error)
  return { live, connection, count, read }
}

t.test('a session that ends between its login and the call is replaced', async (t) => {
  let opened = 0
  const connection = fakeConnection(({ method, headers }) => {
    if (method === 'POST') return { body: JSON.stringify({ value: `s${++opened}` }) }
    if (headers['vmware-api-session-id'] === 's1') return { status: 401, body: '' }
    return { body: '{"value":"ok"}' }
  })
  const answer = await client(connection).call({ method: 'GET', resource: 'tagging/category', signal })
  t.equal(answer, 'ok')
  t.equal(opened, 2)
})

t.test('logins whose answers are lost: one for each outage, then one in half an hour', async (t) => {
  const clock = createHandClock()
  let state: 'lost' | 'away' | 'well' | 'unsent' = 'unsent'
  const sent: string[] = []
  let looks = 0
  const connection = fakeConnection(({ method, path }) => {
    if (!path.endsWith('session')) return { body: '{"value":"ok"}' }
    sent.push(method)
    if (state === 'away') throw new VCenterError('Unreachable', 'nobody is there')
    if (state === 'unsent' && method === 'POST')
      throw new NotSentError(new VCenterError('Unreachable', 'refused'))
    if (method === 'GET') return { status: looks++ % 2 === 0 ? 401 : 501, body: '' }
    return state === 'lost' ? { status: 504, body: '' } : { body: '{"value":"s1"}' }
  })
  const rest = client(connection, {}, undefined, clock)
  const read = async () =>
    await rest.call({ method: 'GET', resource: 'tagging/category', signal }).catch((error: Error) => error)
  const made = () => sent.splice(0).join(' ')

  for (let tries = 0; tries < 2; tries++) t.match(await read(), { reason: 'Unreachable' })
  t.equal(made(), 'POST POST', 'what was not sent is not lost')
  state = 'lost'
  t.match(await read(), { reason: 'TimedOut' })
  t.equal(made(), 'POST')
  state = 'away'
  for (let tries = 0; tries < 5; tries++) t.match(await read(), { reason: 'Unreachable' })
  t.equal(made(), 'GET GET GET GET GET', 'no login before somebody answers')
  state = 'lost'
  t.match(await read(), { reason: 'TimedOut' })
  t.equal(made(), 'GET POST')
  await clock.turn(1_790_000)
  t.match(await read(), { reason: 'TimedOut', message: /last two logins at its REST interface/ })
  t.equal(made(), '', 'it waits until those have expired')
  await clock.turn(20_000)
  state = 'well'
  t.equal(await read(), 'ok')
  t.equal(made(), 'GET POST')
})

t.test(
  'a login that is refused, or answered with an error of vCenter itself, has left no session',
  async (t) => {
    for (const status of [401, 500, 503]) {
      const connection = fakeConnection(() => ({ status, body: '' }))
      const rest = client(connection)
      for (let tries = 0; tries < 2; tries++)
        await t.rejects(rest.call({ method: 'GET', resource: 'tagging/category', signal }))
      for (const { method } of connection.requests) t.equal(method, 'POST')
    }
  },
)

for (const [version, lookAnswers] of [
  ['7.0', (live: boolean) => (live ? 200 : 401)],
  ['6.7, which has no such look', () => 404],
  ['that knows the path by another method alone', () => 405],
  ['one behind a proxy that says 403 of each look', () => 403],
  ['that answers null without a session', (live: boolean) => (live ? 200 : 'null')],
] as const) {
  t.test(`objects that are refused cost no logins, in a vCenter ${version}`, async (t) => {
    const { live, count, read } = sharedVCenter(lookAnswers)
    for (let round = 0; round < 20; round++) {
      t.match(await read('gone'), { status: 404, reason: 'Unavailable' })
      t.match(await read('foreign'), { status: 403, reason: 'NoPermission' })
      t.match(await read('own'), { name: 'own' })
    }
    const logins = count('POST session')
    t.ok(logins <= 2, `${logins} logins`)
    t.ok(count('GET session') <= 2)
    t.equal(live.size, 1, 'no session is left behind')
  })

  t.test(`an ended session that is told by 403 is replaced at once, in a vCenter ${version}`, async (t) => {
    const { live, count, read } = sharedVCenter(lookAnswers)
    await read('own')
    live.clear()
    t.match(await read('own'), { name: 'own' })
    t.equal(count('POST session'), 2)
    t.equal(live.size, 1)
  })
}

t.test('requests say what they accept', async (t) => {
  const { connection, read } = sharedVCenter(() => 200)
  await read('own')
  for (const { headers } of connection.requests) t.equal(headers.accept, 'application/json')
})

t.test('a session that ends after other refusals is replaced when it is next looked at', async (t) => {
  const clock = createHandClock()
  const { live, count, read } = sharedVCenter((alive) => (alive ? 200 : 401), clock)
  await read('own')
  t.match(await read('foreign'), { status: 403 })
  live.clear()
  t.match(await read('own'), { status: 403 }, 'it was there just now')
  await clock.turn(10_000)
  t.match(await read('own'), { name: 'own' })
  t.equal(count('POST session'), 2)
})

t.test(
  'an object that is refused in a new session too hides the end of that one for no longer',
  async (t) => {
    const clock = createHandClock()
    const { live, count, read } = sharedVCenter((alive) => (alive ? 200 : 401), clock)
    await read('own')
    live.clear()
    t.match(await read('foreign'), { status: 403 })
    live.clear()
    await clock.turn(10_000)
    t.match(await read('own'), { name: 'own' })
    t.equal(count('POST session'), 3)
  },
)

t.test('calls that come together share a login, and a change of the interface', async (t) => {
  let session = 0
  let served = 'rest'
  const connection = fakeConnection(({ path, method, headers }) => {
    const [, name = ''] = path.split('/')
    if (name !== served) return { status: 404, body: '' }
    const isLogin = method === 'POST' && path.endsWith('session')
    if (isLogin) session++
    else if (headers['vmware-api-session-id'] !== `s${session}`) return { status: 401, body: '' }
    const value = isLogin ? `s${session}` : 'ok'
    return { body: JSON.stringify(name === 'rest' ? { value } : value) }
  })
  const rest = client(connection)
  const four = async () =>
    await Promise.all(
      Array.from({ length: 4 }, () => rest.call({ method: 'GET', resource: 'tagging/category', signal })),
    )
  t.same(await four(), ['ok', 'ok', 'ok', 'ok'])
  t.equal(session, 1)
  session = 2
  t.same(await four(), ['ok', 'ok', 'ok', 'ok'], 'it was ended')
  t.equal(session, 3)
  served = 'api'
  t.same(await four(), ['ok', 'ok', 'ok', 'ok'], 'vCenter was upgraded')
  t.equal(session, 4)
})

t.test('calls that come together in the SOAP session change the interface once', async (t) => {
  const connection = fakeConnection(({ path }) =>
    path.startsWith('/rest/') ? { status: 404, body: '' } : { body: '"ok"' },
  )
  const rest = client(connection, { user: '', sessionManager: 'https://m/s' }, () => 'one')
  const call = async () => await rest.call({ method: 'GET', resource: 'tagging/category', signal })
  t.same(await Promise.all([call(), call()]), ['ok', 'ok'])
})

t.test('the SOAP session has ended: that is no refusal of an object, whatever status tells it', async (t) => {
  for (const status of [401, 403]) {
    let soap = 'one'
    let live = 'one'
    const connection = fakeConnection(({ path, headers }) =>
      headers['vmware-api-session-id'] !== live || path.endsWith('foreign')
        ? { status: path.endsWith('foreign') ? 403 : status, body: '' }
        : { body: '{"value":"ok"}' },
    )
    const clock = createHandClock()
    const alive = () =>
      soap === live ? Promise.resolve() : Promise.reject(new SoapFault('NotAuthenticated', ''))
    const manager = { user: '', sessionManager: 'https://m/s' }
    const rest = client(connection, manager, () => soap, clock, alive)
    const read = async (id: string) =>
      await rest.call({ method: 'GET', resource: 'tagging/category', id, signal })
    t.equal(await read('own'), 'ok')
    await t.rejects(read('foreign'), { reason: 'NoPermission', message: /403/ }, 'in a session that lives')
    await clock.turn(10_000)
    live = 'two'
    await t.rejects(read('own'), { reason: 'SessionLost', message: /has ended the session; a new clone/ })
    const late = read('own')
    soap = 'two'
    await t.rejects(late, { reason: 'SessionLost', message: /has ended the session; a new clone/ })
    t.equal(await read('own'), 'ok')
  }
})

t.test('nobody answers a call about an object: others are looked at', async (t) => {
  for (const [status, others, ofObjects, isOfObject] of [
    [504, 200, true, true],
    [503, 403, true, true],
    [503, 503, true, false],
    [504, 200, false, false],
    [429, 200, true, false],
  ] as const) {
    const connection = fakeConnection(({ path, method }) => {
      if (method === 'POST') return { body: '{"value":"s"}' }
      return path.includes('bad') ? { status, body: '' } : { status: others, body: '{"value":[]}' }
    })
    const rest = client(connection)
    const about = { method: 'GET', resource: 'tagging/category', id: 'bad', ofObjects, signal } as const
    const error = await rest.call(about).catch((error: unknown) => error)
    t.equal(error instanceof UnansweredError, isOfObject, `${status}, others ${others}`)
    t.match(error, { message: new RegExp(`HTTP status ${status}`) })
    t.equal(connection.requests.filter(({ method }) => method === 'POST').length, 1)
  }
})
