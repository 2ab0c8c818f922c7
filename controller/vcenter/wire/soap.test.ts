import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { type FakeAnswer, fakeConnection, fault, soap } from '../testing/fake-connection.ts'
import { isRebuild, isSessionLost, SoapFault, VCenterError } from './errors.ts'
import { chooseVersion, createSoapClient, element, envelope, escapeText, reference } from './soap.ts'
import { child, readXML, textOf } from './xml.ts'

const target = { type: 'ServiceInstance', value: 'ServiceInstance' }
const { signal } = new AbortController()
const call = { operation: 'CurrentTime', target, deadline: 1_000, signal }
const OK = { body: soap('<CurrentTimeResponse xmlns="urn:vim25"/>') }

function client(answer: () => FakeAnswer, outcomes: string[] = []) {
  const metrics = {
    call: (_operation: string, outcome: string) => void outcomes.push(outcome),
    reconnect() {},
    resynced() {},
    unwatched() {},
  }
  const connection = fakeConnection(answer)
  return {
    connection,
    soap: createSoapClient({ connection, clock: systemClock, random: () => 0.5, metrics }),
  }
}

t.test('faults, by what is decided by them', async (t) => {
  const pc = '<obj type="PropertyCollector">pc-1</obj>'
  const view = '<obj type="ListView">v-1</obj>'
  const vm = '<obj type="VirtualMachine">vm-1</obj>'
  const denied = '<object type="VirtualMachine">vm-1</object><privilegeId>System.View</privilegeId>'
  const cases: readonly [
    string,
    FakeAnswer,
    string,
    { lost?: boolean; rebuild?: boolean; object?: string },
  ][] = [
    ['NotAuthenticated', fault('NotAuthenticated', denied), 'SessionLost', { lost: true, object: 'vm-1' }],
    ['NoPermission', fault('NoPermission', denied), 'NoPermission', { object: 'vm-1' }],
    ['InvalidLogin', fault('InvalidLogin'), 'InvalidLogin', {}],
    ['RequestCanceled', fault('RequestCanceled'), 'UnexpectedFault', { rebuild: true }],
    ['InvalidCollectorVersion', fault('InvalidCollectorVersion'), 'UnexpectedFault', { rebuild: true }],
    [
      'ManagedObjectNotFound',
      fault('ManagedObjectNotFound', pc),
      'UnexpectedFault',
      { rebuild: true, object: 'pc-1' },
    ],
    [
      'ManagedObjectNotFound',
      fault('ManagedObjectNotFound', view),
      'UnexpectedFault',
      { rebuild: true, object: 'v-1' },
    ],
    ['ManagedObjectNotFound', fault('ManagedObjectNotFound', vm), 'UnexpectedFault', { object: 'vm-1' }],
    ['RuntimeFault', fault('RuntimeFault', '', 'what happened'), 'UnexpectedFault', {}],
  ]
  for (const [name, answer, reason, { lost = false, rebuild = false, object }] of cases) {
    const error = await client(() => answer)
      .soap.call(call)
      .catch((error: unknown) => error)
    t.ok(error instanceof SoapFault)
    t.match(
      error,
      { fault: name, reason, object: object === undefined ? undefined : { value: object } },
      name,
    )
    t.equal(isSessionLost(error), lost, name)
    t.equal(isRebuild(error), rebuild, name)
  }
})

t.test('what is no SOAP answer', async (t) => {
  const html = '<html><body>Sign in</body></html>'
  const cases: readonly [FakeAnswer, string, RegExp][] = [
    [{ status: 200, contentType: 'text/html', body: html }, 'NotVCenter', /HTML/],
    [{ status: 200, body: html }, 'NotVCenter', /HTML/],
    [
      { status: 404, contentType: 'text/html', body: html },
      'Unavailable',
      /404, as a vCenter does while its services start/,
    ],
    [{ status: 504, contentType: 'text/html', body: html }, 'TimedOut', /504/],
    [{ status: 400, contentType: 'text/html', body: html }, 'NotVCenter', /400/],
    [{ status: 302, contentType: '', body: '' }, 'NotVCenter', /302/],
    [{ status: 503, contentType: 'text/plain', body: 'no healthy upstream' }, 'Unavailable', /503/],
    [{ status: 502, contentType: 'text/html', body: html }, 'Unavailable', /502/],
    [{ status: 429, contentType: '', body: '' }, 'Unavailable', /429/],
    [{ status: 500, contentType: 'text/html', body: html }, 'Unavailable', /500/],
    [{ status: 200, body: soap('') }, 'MalformedAnswer', /no content/],
    [{ status: 200, body: soap('<x/>').slice(0, 60) }, 'MalformedAnswer', /well-formed/],
  ]
  for (const [answer, reason, message] of cases) {
    const outcomes: string[] = []
    const error = await client(() => answer, outcomes)
      .soap.call(call)
      .catch((error: unknown) => error)
    t.ok(error instanceof VCenterError)
    t.match(error, { reason, message })
    t.same(outcomes, [reason])
  }
})

t.test('the session cookie goes back as it came', async (t) => {
  const { connection, soap } = client(() => ({
    ...OK,
    cookies: ['vmware_soap_session="abc-1"; Path=/; HttpOnly; Secure'],
  }))
  await soap.call(call)
  t.ok(soap.sessionID())
  await soap.call(call)
  t.equal(connection.requests[0]?.headers.cookie, undefined)
  t.equal(connection.requests[1]?.headers.cookie, 'vmware_soap_session="abc-1"')
  soap.forgetSession()
  await soap.call(call)
  t.equal(connection.requests[2]?.headers.cookie, undefined)
})

t.test('a cookie that comes with a refusal is no session', async (t) => {
  const cookies = ['vmware_soap_session="of nobody"; Path=/; HttpOnly; Secure;']
  const { soap: refused, connection } = client(() => ({ ...fault('InvalidLogin'), cookies }))
  await t.rejects(refused.call(call), { fault: 'InvalidLogin', message: /./ })
  t.notOk(refused.sessionID())
  await t.rejects(refused.call(call), { fault: 'InvalidLogin', message: /./ })
  t.equal(connection.requests[1]?.headers.cookie, undefined)
})

t.test('any password survives', async (t) => {
  for (const password of ['a&b<c>"\'', ']]>', '$&', ' x ', 'a\r\nb\tc', 'pässwörd😀', '&amp;']) {
    const text = envelope(
      'Login',
      { type: 'SessionManager', value: 'S' },
      element('password', password),
      'o-1',
    )
    const document = await readXML(
      (async function* () {
        yield new TextEncoder().encode(text)
      })(),
      'Envelope',
    )
    t.equal(textOf(child(child(document, 'Body'), 'Login'), 'password'), password)
    t.equal(textOf(child(document, 'Header'), 'operationID'), 'o-1')
  }
})

t.test('what XML cannot carry is refused, without being repeated', (t) => {
  for (const text of ['a\u0000b', 'a\u0007b', '\ud800']) {
    t.throws(() => escapeText(text), {
      reason: 'UnusableValue',
      message: /^a value for vCenter holds a control character, which/,
    })
  }
  t.end()
})

t.test('references', (t) => {
  t.equal(
    reference('obj', { type: 'VirtualMachine', value: 'vm-1' }),
    '<obj type="VirtualMachine">vm-1</obj>',
  )
  t.equal(reference('obj', { type: '"', value: '<' }), '<obj type="&quot;">&lt;</obj>')
  t.end()
})

t.test('the oldest that is not older than ours, else the newest', async (t) => {
  const cases: readonly [readonly string[], string | undefined][] = [
    [['8.0.3.0', '8.0.2.0', '7.0', '6.7', '6.5'], '6.7'],
    [['8.0.3.0', '8.0.10.0', '6.7.1'], '6.7.1'],
    [['9.0.0.0', '8.0.10.0', '8.0.9.0'], '8.0.9.0'],
    [['5.5', '6.5', '6.0'], '6.5'],
    [[], undefined],
  ]
  for (const [served, chosen] of cases) t.equal(chooseVersion(served), chosen, served.join(' '))
})
