import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { TIMINGS } from '../timings.ts'
import { keyOf, VCenterError } from '../wire/errors.ts'
import { type RESTCall, type RESTClient, RESTError } from '../wire/rest.ts'
import { createTagReader } from './tags.ts'

const { signal } = new AbortController()
const object = (value: string) => ({ type: 'Folder', value })

/** A tag service with these attachments; `refuse` makes calls fail. */
function setUp(
  attached: Record<string, string[]>,
  refuse: (call: RESTCall) => number | undefined = () => undefined,
) {
  const calls: string[] = []
  const rest: RESTClient = {
    async call(call) {
      calls.push(`${call.resource}${call.suffix.startsWith('/id:') ? call.suffix : ''}`)
      const status = refuse(call)
      if (status !== undefined) throw new RESTError('vc', call.resource, status)
      if (call.resource === 'tagging/tag') {
        const [category, name] = decodeURIComponent(call.suffix.slice(4)).split('/')
        return { name, category_id: `id of ${category}` }
      }
      if (call.resource === 'tagging/category') return { name: decodeURIComponent(call.suffix).slice(10) }
      const { object_ids } = JSON.parse(JSON.stringify(call.body)) as {
        object_ids: { type: string; id: string }[]
      }
      // As real servers do: not in the order asked for, and nothing for an object without tags.
      return object_ids
        .filter(({ id }) => attached[id] !== undefined)
        .reverse()
        .map((object_id) => ({ object_id, tag_ids: attached[object_id.id] }))
    },
    logout: () => Promise.resolve(),
  }
  const clock = createHandClock()
  const reader = createTagReader({ rest, categories: new Set(['zone', 'region']), timings: TIMINGS, clock })
  return { reader, calls, clock }
}

t.test('tags of the categories of interest, each name read once', async (t) => {
  const { reader, calls, clock } = setUp({ a: ['zone/z1', 'owner/me'], b: ['zone/z1', 'region/r1'] })
  const objects = ['a', 'b', 'c'].map(object)
  const read = await reader.read(objects, signal)
  t.same(read.get(keyOf(object('a'))), { tags: [{ category: 'zone', name: 'z1' }], problems: [] })
  t.same(read.get(keyOf(object('b')))?.tags, [
    { category: 'region', name: 'r1' },
    { category: 'zone', name: 'z1' },
  ])
  t.same(read.get(keyOf(object('c'))), { tags: [], problems: [] })
  t.equal(calls.length, 1 + 3 + 3)
  await reader.read(objects, signal)
  t.equal(calls.length, 8, 'names are remembered')
  await clock.turn(TIMINGS.tagNamesAge)
  await reader.read(objects, signal)
  t.equal(calls.length, 15, 'but not for ever')
})

t.test('two thousand objects a call', async (t) => {
  const { reader, calls } = setUp({})
  await reader.read(
    Array.from({ length: 4_001 }, (_, i) => object(`g-${i}`)),
    signal,
  )
  t.equal(calls.length, 3)
})

t.test('one object that is refused does not spoil the others', async (t) => {
  const { reader } = setUp({ a: ['zone/z1'], b: ['zone/z2'] }, (call) =>
    JSON.stringify(call.body ?? '').includes('"bad"') ? 403 : undefined,
  )
  const read = await reader.read(['a', 'bad', 'b', 'd'].map(object), signal)
  t.equal(read.get(keyOf(object('a')))?.tags[0]?.name, 'z1')
  t.equal(read.get(keyOf(object('b')))?.tags[0]?.name, 'z2')
  t.match(read.get(keyOf(object('bad'))), { tags: [], problems: [/403/] })
})

t.test('without any privilege the calls stay few', async (t) => {
  const { reader, calls } = setUp({}, () => 403)
  const read = await reader.read(
    Array.from({ length: 1_000 }, (_, i) => object(`g-${i}`)),
    signal,
  )
  t.ok(calls.length < 70, `${calls.length} calls`)
  t.ok([...read.values()].every((each) => each.problems.length === 1))
})

t.test('a tag that is refused is asked for again the next time', async (t) => {
  let refused = true
  const { reader } = setUp({ a: ['zone/z1', 'region/r1'] }, (call) =>
    refused && call.suffix.includes('zone') && call.resource === 'tagging/tag' ? 404 : undefined,
  )
  const first = await reader.read([object('a')], signal)
  t.match(first.get(keyOf(object('a'))), { tags: [{ name: 'r1' }], problems: [/tag zone\/z1: .*404/] })
  refused = false
  t.equal((await reader.read([object('a')], signal)).get(keyOf(object('a')))?.tags.length, 2)
})

t.test('what is wrong with the service is thrown', async (t) => {
  const { reader } = setUp({}, () => 503)
  await t.rejects(reader.read([object('a')], signal), { reason: 'Unavailable', message: /503/ })
  const rest: RESTClient = { call: async () => [{ object_id: 'x' }], logout: () => Promise.resolve() }
  const other = createTagReader({
    rest,
    categories: new Set(['zone']),
    timings: TIMINGS,
    clock: createHandClock(),
  })
  const error = await other.read([object('a')], signal).catch((error: unknown) => error)
  t.ok(error instanceof VCenterError)
  t.match(error, { reason: 'MalformedAnswer' })
})
