import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { fakeSoap } from '../testing/fake-soap.ts'
import { TIMINGS } from '../timings.ts'
import { TooLongError } from '../wire/errors.ts'
import { createPropertyReader } from './properties.ts'

const { signal } = new AbortController()
const object = '<objects><obj type="VirtualMachine">vm-1</obj></objects>'

/** Reads where page after page is as said; the number counts from 0. */
async function read(page: (number: number) => string, perPage = 0) {
  const clock = createHandClock()
  let pages = 0
  const soap = fakeSoap(() => `<returnval>${page(pages++)}</returnval>`)
  const slow = {
    ...soap,
    async call(call: Parameters<typeof soap.call>[0]) {
      const [response] = await Promise.all([soap.call(call), clock.turn(perPage)])
      return response
    },
  }
  const collector = { type: 'PropertyCollector', value: 'pc' }
  const reader = createPropertyReader({ soap: perPage > 0 ? slow : soap, collector, timings: TIMINGS, clock })
  let objects = 0
  const error = await reader.read(['<x/>'], () => objects++, signal).catch((error: unknown) => error)
  return { error, objects, calls: soap.calls }
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
    const atMost = Number(/<maxObjects>(\d+)/.exec(parameters)?.[1])
    asked.push(atMost)
    if (operation === 'RetrievePropertiesEx' && atMost > 40) throw new TooLongError('too long', 63)
    // A large one comes on the second page.
    if (atMost > 20) return `<returnval><token>1</token>${object}</returnval>`
    if (Number.isNaN(atMost) && asked.at(-2) === 31) throw new TooLongError('too long', 900)
    return `<returnval>${object}</returnval>`
  })
  const collector = { type: 'PropertyCollector', value: 'pc' }
  const reader = createPropertyReader({ soap, collector, timings: TIMINGS, clock: createHandClock() })
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
