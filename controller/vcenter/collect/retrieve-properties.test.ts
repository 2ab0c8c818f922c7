import t from 'tap'
import type { Clock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { fakeSoap } from '../testing/fake-connection.ts'
import { TIMINGS } from '../timings.ts'
import { SoapFault, TooLongError } from '../wire/errors.ts'
import type { SoapClient } from '../wire/soap.ts'
import { createPropertyReader, type ObjectContent } from './retrieve-properties.ts'
import { createCollectors } from './session-objects.ts'

const { signal } = new AbortController()
const propertyCollector = { type: 'PropertyCollector', value: 'pc' }
const made = '<returnval type="PropertyCollector">made</returnval>'
const object = '<objects><obj type="VirtualMachine">vm-1</obj></objects>'

/** Reads where page after page is as said; the number counts from 0. */
async function read(page: (number: number) => string, perPage = 0) {
  const clock = createHandClock()
  let pages = 0
  const soap = fakeSoap(({ operation }) =>
    operation === 'CreatePropertyCollector' ? made : `<returnval>${page(pages++)}</returnval>`,
  )
  const slow = {
    ...soap,
    async call(call: Parameters<typeof soap.call>[0]) {
      const [response] = await Promise.all([soap.call(call), clock.turn(perPage)])
      return response
    },
  }
  const reader = openReader(soap, perPage > 0 ? slow : soap, clock)
  let objects = 0
  const error = await reader.read(['<x/>'], () => objects++, signal).catch((error: unknown) => error)
  return { error, objects, calls: soap.calls.filter(isRead) }
}

const isRead = ({ operation }: { readonly operation: string }) => /Retrieve/.test(operation)

function openReader(
  soap: SoapClient,
  reads = soap,
  clock: Clock = createHandClock(),
  alive = () => Promise.resolve(),
) {
  const collectors = createCollectors({ soap, propertyCollector, timings: TIMINGS })
  return createPropertyReader({ soap: reads, collectors, alive, timings: TIMINGS, clock })
}

t.test('page by page until there is no token', async (t) => {
  const { error, objects, calls } = await read((n) => (n < 3 ? `<token>${n}</token>${object}` : object))
  t.equal(error, undefined)
  t.equal(objects, 4)
  t.match(calls.at(-1), { operation: 'ContinueRetrievePropertiesEx', parameters: '<token>2</token>' })
})

t.test('pages without end are no answer', async (t) => {
  const cases: readonly [string, (n: number) => string, number, RegExp][] = [
    ['nothing in it', (n) => `<token>${n}</token>`, 1, /without objects/],
    ['the same token', () => `<token>t</token>${object}`, 2, /same token/],
    ['ever more', (n) => `<token>${n}</token>${object}`, 1_000, /1000 pages/],
    ['ever more in a page', (n) => `<token>${n}</token>${object.repeat(5_000)}`, 21, /100000 objects.*check/],
  ]
  for (const [name, page, count, message] of cases) {
    const { error, calls } = await read(page)
    t.match(error, { reason: 'MalformedAnswer', message }, name)
    t.equal(calls.length, count, name)
  }
})

t.test('what is too long is read in smaller pages, then and later', async (t) => {
  const asked: number[] = []
  const soap = fakeSoap(({ operation, parameters = '' }) => {
    if (operation === 'CreatePropertyCollector') return made
    const atMost = Number(/<maxObjects>(\d+)/.exec(parameters)?.[1])
    asked.push(atMost)
    if (operation === 'RetrievePropertiesEx' && atMost > 40) throw new TooLongError('too long', 63)
    // A large one comes on the second page.
    if (atMost > 20) return `<returnval><token>1</token>${object}</returnval>`
    if (Number.isNaN(atMost) && asked.at(-2) === 31) throw new TooLongError('too long', 900)
    return `<returnval>${object}</returnval>`
  })
  const reader = openReader(soap)
  await reader.read(['<x/>'], () => {}, signal)
  t.same(asked, [1_000, 31, Number.NaN, 15])
  await reader.read(['<x/>'], () => {}, signal)
  t.equal(asked.at(-1), 15)
})

t.test('a single object that is too long is no answer', async (t) => {
  const { error, calls } = await read(() => {
    throw new TooLongError('too long', 0)
  })
  t.match(error, { name: 'TooLongError' })
  t.equal(calls.length, 2)
})

t.test('one deadline holds for all pages', async (t) => {
  const { error, calls } = await read((n) => `<token>${n}</token>${object}`, 50_000)
  t.match(error, { reason: 'TimedOut', message: /180 s/ })
  t.same(
    calls.map((call) => call.deadline),
    [60_000, 60_000, 60_000, 30_000],
  )
})

t.test('a read has a collector to itself, and the next takes it over', async (t) => {
  const pending: (() => void)[] = []
  let collectors = 0
  const soap = fakeSoap(({ operation }) =>
    operation === 'CreatePropertyCollector'
      ? `<returnval type="PropertyCollector">made-${++collectors}</returnval>`
      : `<returnval>${object}</returnval>`,
  )
  const held: SoapClient = {
    ...soap,
    async call(call) {
      await new Promise<void>((resolve) => pending.push(resolve))
      return soap.call(call)
    },
  }
  const reader = openReader(soap, held)
  const read = () => reader.read(['<x/>'], () => {}, signal)
  const both = Promise.all([read(), read()])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(pending.length, 2, 'both at once')
  for (const resolve of pending.splice(0)) resolve()
  await both
  const third = read()
  await new Promise((resolve) => setImmediate(resolve))
  for (const resolve of pending) resolve()
  await third
  t.equal(collectors, 2)
  const [one, other] = soap.calls.filter(isRead).map((call) => call.target.value)
  t.same(new Set([one, other]), new Set(['made-1', 'made-2']))
})

t.test('a token that vCenter has forgotten begins the read again, a few times', async (t) => {
  const lost = new SoapFault('InvalidArgument', 'A specified parameter was not correct: token')
  const once = await read((n) => {
    if (n === 1) throw lost
    return n < 3 ? `<token>${n}</token>${object}` : object
  })
  t.equal(once.error, undefined)
  t.same(
    once.calls.map((call) => call.operation.replace('RetrievePropertiesEx', '')),
    ['', 'Continue', '', 'Continue'],
  )
  const always = await read((n) => {
    if (n % 2 === 1) throw lost
    return `<token>${n}</token>${object}`
  })
  t.match(always.error, { reason: 'UnexpectedFault', message: /InvalidArgument/ })
  t.equal(always.calls.length, 8, 'once, and three times more')
  const other = await read(() => {
    throw lost
  })
  t.equal(other.calls.length, 1, 'of a read that has no token yet it says something else')
})

t.test('nothing, or nothing more, is believed of a session that lives', async (t) => {
  const cases: readonly [string, readonly string[], boolean][] = [
    ['an object', [object], false],
    ['nothing', [''], true],
    ['a page, and nothing', [`<token>0</token>${object}`, ''], true],
    ['two pages', [`<token>0</token>${object}`, object], false],
  ]
  for (const [name, pages, asked] of cases) {
    const left = [...pages]
    const soap = fakeSoap(({ operation }) =>
      operation === 'CreatePropertyCollector' ? made : `<returnval>${left.shift()}</returnval>`,
    )
    let questions = 0
    const lost = new SoapFault('NotAuthenticated', '')
    const reader = openReader(soap, soap, createHandClock(), () => {
      questions++
      return Promise.reject(lost)
    })
    const reading = reader.read(['<x/>'], () => {}, signal)
    if (asked) await t.rejects(reading, lost, name)
    else await t.resolves(reading, name)
    t.equal(questions, asked ? 1 : 0, name)
  }
})

t.test('what may not be read is told by its path, and without a session nothing is', async (t) => {
  const missing = (path: string, fault: string, inside = '') =>
    `<missingSet><path>${path}</path><fault><fault xmlns:i="http://www.w3.org/2001/XMLSchema-instance" ` +
    `i:type="${fault}">${inside}</fault><localizedMessage>told so</localizedMessage></fault></missingSet>`
  const taken: ObjectContent[] = []
  const read = (...missings: string[]) => {
    const inside = `<propSet><name>name</name><val>web</val></propSet>${missings.join('')}`
    const record = `<objects><obj type="VirtualMachine">vm-1</obj>${inside}</objects>`
    const soap = fakeSoap(({ operation }) =>
      operation === 'CreatePropertyCollector' ? made : `<returnval>${record}</returnval>`,
    )
    return openReader(soap, soap, createHandClock(), async () => {
      if (ended) throw new SoapFault('NotAuthenticated', 'ended')
    }).read(['<x/>'], (each) => taken.push(each), signal)
  }
  let ended = false
  await read(
    missing(
      'guest.net',
      'NoPermission',
      '<object type="VirtualMachine">vm-1</object><privilegeId>System.Read</privilegeId>',
    ),
    missing('config.uuid', 'SystemError'),
    missing('runtime.host', 'NoPermission', '<privilegeId>not <!-- a --> privilege\n</privilegeId>'),
  )
  t.equal(taken.at(-1)?.properties.get('name')?.text, 'web')
  t.match(
    taken.at(-1)?.missing,
    new Map([
      ['guest.net', { fault: 'NoPermission', privilege: 'System.Read', object: { value: 'vm-1' } }],
      ['config.uuid', { fault: 'SystemError', message: /told so/ }],
      ['runtime.host', { fault: 'NoPermission', privilege: undefined }],
    ]),
  )
  await read(missing('name', 'NotAuthenticated'))
  t.match(taken.at(-1)?.missing.get('name'), {
    reason: 'UnexpectedFault',
    message: /NotAuthenticated although the session is alive/,
  })
  const before = taken.length
  ended = true
  await t.rejects(read(missing('name', 'NotAuthenticated')), { fault: 'NotAuthenticated', message: /./ })
  t.equal(taken.length, before)
})
