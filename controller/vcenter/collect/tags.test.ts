import t from 'tap'
import type { Clock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { type RESTCall, type RESTClient, RESTError } from '../session/rest.ts'
import { TIMINGS } from '../timings.ts'
import { VCenterError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { createTagReader, type ObjectTags } from './tags.ts'

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
      calls.push(`${call.resource}${call.id === undefined ? '' : ` ${call.id} ${call.action ?? ''}`}`)
      const status = refuse(call)
      if (status !== undefined) throw new RESTError('vc', call.resource, status)
      const { id } = call
      const all = () => [...new Set(Object.values(attached).flat())]
      const categoryOf = (tag: string) => `id of ${tag.split('/')[0]}`
      if (call.resource === 'tagging/category') {
        if (id === undefined) return [...new Set(all().map(categoryOf))]
        return { name: decodeURIComponent(id).slice(6) }
      }
      if (call.resource === 'tagging/tag' && id !== undefined) {
        const key = decodeURIComponent(id)
        if (call.method === 'GET') return { name: key.split('/')[1] }
        if (call.action !== 'list-tags-for-category') throw new Error(call.action)
        return all().filter((tag) => categoryOf(tag) === key)
      }
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
  return { read: readerOf(rest, clock), calls, clock }
}

/** Reads and resolves with all that was handed over. */
function readerOf(rest: RESTClient, clock: Clock = createHandClock()) {
  const categories = new Set(['zone', 'region'])
  const reader = createTagReader({ rest, categories, timings: TIMINGS, clock })
  return async (objects: readonly ManagedObjectReference[]) => {
    const read = new Map<string, ObjectTags>()
    await reader.read(
      objects,
      (tags) => {
        for (const [key, value] of tags) read.set(key, value)
      },
      signal,
    )
    return read
  }
}

t.test('tags of the categories of interest, each name read once', async (t) => {
  const { read: readTags, calls, clock } = setUp({ a: ['zone/z1', 'owner/me'], b: ['zone/z1', 'region/r1'] })
  const objects = ['a', 'b', 'c'].map(object)
  const read = await readTags(objects)
  t.same(read.get(keyOf(object('a'))), { tags: [{ category: 'zone', name: 'z1' }], problems: [] })
  t.same(read.get(keyOf(object('b')))?.tags, [
    { category: 'region', name: 'r1' },
    { category: 'zone', name: 'z1' },
  ])
  t.same(read.get(keyOf(object('c'))), { tags: [], problems: [] })
  t.equal(calls.length, 1 + (1 + 3) + 2 + 2, 'attachments, categories, their tags, names')
  await readTags(objects)
  t.equal(calls.length, 10, 'names are remembered')
  await clock.turn(TIMINGS.tagNamesAge)
  await readTags(objects)
  t.equal(calls.length, 19, 'but not for ever')
})

t.test('two thousand objects a call', async (t) => {
  const { read: readTags, calls } = setUp({})
  await readTags(Array.from({ length: 4_001 }, (_, i) => object(`g-${i}`)))
  t.equal(calls.length, 3)
})

t.test('one object that is refused does not spoil the others', async (t) => {
  const { read: readTags } = setUp({ a: ['zone/z1'], b: ['zone/z2'] }, (call) =>
    JSON.stringify(call.body ?? '').includes('"bad"') ? 403 : undefined,
  )
  const read = await readTags(['a', 'bad', 'b', 'd'].map(object))
  t.equal(read.get(keyOf(object('a')))?.tags[0]?.name, 'z1')
  t.equal(read.get(keyOf(object('b')))?.tags[0]?.name, 'z2')
  t.match(read.get(keyOf(object('bad'))), { tags: [], problems: [/403/] })
})

t.test('without any privilege the calls stay few', async (t) => {
  const { read: readTags, calls } = setUp({}, () => 403)
  const read = await readTags(Array.from({ length: 1_000 }, (_, i) => object(`g-${i}`)))
  t.ok(calls.length < 70, `${calls.length} calls`)
  t.ok([...read.values()].every((each) => each.problems.length === 1))
})

t.test('a tag that is refused is asked for again the next time', async (t) => {
  let refused = true
  const { read: readTags } = setUp({ a: ['zone/z1', 'region/r1'] }, (call) =>
    refused && call.id?.includes('zone') && call.method === 'GET' && call.resource === 'tagging/tag'
      ? 404
      : undefined,
  )
  const first = await readTags([object('a')])
  t.match(first.get(keyOf(object('a'))), { tags: [{ name: 'r1' }], problems: [/tag zone\/z1: .*404/] })
  refused = false
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 2)
})

t.test('what is wrong with the service is thrown', async (t) => {
  const { read: readTags } = setUp({}, () => 503)
  await t.rejects(readTags([object('a')]), { reason: 'Unavailable', message: /503/ })
  const rest: RESTClient = { call: async () => [{ object_id: 'x' }], logout: () => Promise.resolve() }
  const error = await readerOf(rest)([object('a')]).catch((error: unknown) => error)
  t.ok(error instanceof VCenterError)
  t.match(error, { reason: 'MalformedAnswer' })
})

t.test('tags of no interest cost no calls of their own', async (t) => {
  const foreign = Array.from({ length: 100_000 }, (_, i) => `owner/${i}`)
  const attached: Record<string, string[]> = { a: [...foreign, 'zone/z1', 'region/r1'] }
  const { read: readTags, calls } = setUp(attached)
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 2)
  t.ok(calls.length <= 10, `${calls.length} calls`)
  calls.length = 0
  await readTags([object('a')])
  t.equal(calls.length, 1)
})

t.test('a tag and a category that come later are found', async (t) => {
  const attached: Record<string, string[]> = { a: ['zone/z1'] }
  const { read: readTags, calls } = setUp(attached)
  await readTags([object('a')])
  attached.a = ['zone/z2', 'region/r1']
  calls.length = 0
  const tags = (await readTags([object('a')])).get(keyOf(object('a')))
  t.same(tags?.tags, [
    { category: 'region', name: 'r1' },
    { category: 'zone', name: 'z2' },
  ])
  t.equal(calls.length, 1 + 2 + 2 + 2)
})

t.test('categories that are refused leave the unknown tags in doubt', async (t) => {
  let refused = true
  const { read: readTags } = setUp({ a: ['zone/z1'], b: [] }, (call) =>
    refused && call.resource === 'tagging/category' ? 403 : undefined,
  )
  const read = await readTags([object('a'), object('b')])
  t.match(read.get(keyOf(object('a'))), { tags: [], problems: [/categories: .*403/] })
  t.same(read.get(keyOf(object('b'))), { tags: [], problems: [] })
  refused = false
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 1)
})

t.test('a vCenter with all the categories that it may have takes one read', async (t) => {
  const attached = { a: ['zone/z1'], b: Array.from({ length: 999 }, (_, i) => `category ${i}/x`) }
  const read = await setUp(attached).read([object('a')])
  t.same(read.get(keyOf(object('a')))?.tags, [{ category: 'zone', name: 'z1' }])
})

t.test('names by the thousand take several reads', async (t) => {
  const { read: readTags, calls } = setUp({ a: Array.from({ length: 5_000 }, (_, i) => `zone/${i}`) })
  for (let i = 0; i < 2; i++) {
    calls.length = 0
    await t.rejects(readTags([object('a')]), { reason: 'Unavailable', message: /2000 calls/ })
    t.equal(calls.length, 2_001)
  }
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 5_000)
})
