import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { FAKE_VCENTER, fakeConnection } from '../testing/fake-connection.ts'
import { testLogins } from '../testing/logins.ts'
import { TIMINGS } from '../timings.ts'
import type { Connection } from '../wire/connection.ts'
import { createRESTClient } from './rest.ts'

const { signal } = new AbortController()

function client(
  connection: Connection,
  config: Partial<VCenterConfig> = {},
  soapSession: () => string | undefined = () => undefined,
) {
  return createRESTClient({
    connection,
    config: { ...FAKE_VCENTER, ...config },
    timings: TIMINGS,
    clock: systemClock,
    logins: testLogins(),
    metrics: { call() {}, reconnect() {}, resynced() {}, unwatched() {} },
    loginSignal: signal,
    soapSession,
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
