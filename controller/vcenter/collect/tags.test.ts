import t from 'tap'
import type { RESTClient } from '../session/rest.ts'
import { RESTError } from '../session/rest-interfaces.ts'
import { object, readerOf, tagService } from '../testing/tag-service.ts'
import { DeadlineError, UnansweredError, VCenterError } from '../wire/errors.ts'
import { keyOf } from '../wire/managed-object-reference.ts'
import type { ObjectTags } from './tags.ts'

t.test('tags of the categories of interest, each name read once', async (t) => {
  const {
    read: readTags,
    reader,
    calls,
  } = tagService({ a: ['zone/z1', 'owner/me'], b: ['zone/z1', 'region/r1'] })
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
  reader.refreshNames()
  await readTags(objects)
  t.equal(calls.length, 15, 'but not forever; only what is in use is asked for again')
})

t.test('two thousand objects a call', async (t) => {
  const { read: readTags, calls } = tagService({})
  await readTags(Array.from({ length: 4_001 }, (_, i) => object(`g-${i}`)))
  t.equal(calls.filter((call) => call.startsWith('tagging/tag-association')).length, 3)
})

const HANGS = new UnansweredError(new DeadlineError('hangs', false))

for (const [status, refusal] of [
  [403, 403],
  [404, 404],
  [500, 500],
  ['hangs', HANGS],
] as const)
  t.test(`one object that answers ${status} does not spoil the others`, async (t) => {
    const { read: readTags } = tagService({ a: ['zone/z1'], b: ['zone/z2'] }, (call) =>
      JSON.stringify(call.body ?? '').includes('"bad"') ? refusal : undefined,
    )
    const objects = ['a', 'bad', 'b', 'd'].map(object)
    // Each read may look for it again.
    for (let times = 0; times < 20; times++) {
      const read = await readTags(objects)
      t.equal(read.get(keyOf(object('a')))?.tags[0]?.name, 'z1')
      t.equal(read.get(keyOf(object('b')))?.tags[0]?.name, 'z2')
      t.match(read.get(keyOf(object('bad'))), { tags: [], problems: [{ why: new RegExp(`${status}`) }] })
    }
    if (status === 500)
      await t.rejects(readTags([object('bad')]), { message: /500/ }, 'vCenter itself, by all that is seen')
  })

t.test('many categories that nobody answers for hide no other', async (t) => {
  for (const refusal of [HANGS, new UnansweredError(new VCenterError('Unavailable', '503'))]) {
    const foreign = Array.from({ length: 40 }, (_, i) => `foreign-${i}/x`)
    const { read: readTags } = tagService({ a: [...foreign, 'zone/z1'] }, (call) =>
      call.id?.includes('foreign') ? refusal : undefined,
    )
    // No region: all are asked for.
    const read = async () => (await readTags([object('a')])).get(keyOf(object('a')))?.tags[0]?.name
    const said: unknown[] = []
    for (let times = 0; times < 6; times++) said.push(await read().catch((error: unknown) => error))
    t.equal(said[0], refusal, 'the first of them are all that is known')
    t.same(said.slice(3), ['z1', 'z1', 'z1'], 'the others are asked for before them')
  }
})

t.test('a vCenter that takes too long for two thousand objects is asked for fewer', async (t) => {
  const all = Array.from({ length: 4_000 }, (_, i) => object(`g-${i}`))
  const attached = Object.fromEntries(all.map(({ value }) => [value, ['zone/z1']]))
  const asked: number[] = []
  const { read: readTags } = tagService(attached, ({ body }) => {
    if (!(body instanceof Object && 'object_ids' in body && Array.isArray(body.object_ids))) return undefined
    asked.push(body.object_ids.length)
    return body.object_ids.length > 300 ? HANGS : undefined
  })
  for (const most of [40, 16]) {
    const read = await readTags(all)
    t.ok(all.every((each) => read.get(keyOf(each))?.tags.length === 1))
    t.ok(asked.length <= most, `${asked.length} calls`)
    asked.length = 0
  }
})

for (const [status, folder] of [
  [403, 60],
  [500, 0],
] as const)
  t.test(
    `of thousands, one in a thousand and a folder of ${folder} answer ${status}: all others are read`,
    async (t) => {
      const isBad = (i: number) => i % 1_000 === 7 || (i >= 500 && i < 500 + folder)
      const all = Array.from({ length: 4_000 }, (_, i) => object(`${isBad(i) ? 'bad' : 'good'}-${i}`))
      const attached = Object.fromEntries(all.map(({ value }) => [value, ['zone/z1']]))
      const { read: readTags } = tagService(attached, (call) =>
        JSON.stringify(call.body ?? '').includes('bad-') ? status : undefined,
      )
      const read = await readTags(all)
      const good = all.filter(({ value }) => value.startsWith('good'))
      t.same(
        good.filter((each) => read.get(keyOf(each))?.tags.length !== 1),
        [],
      )
    },
  )

for (const [status, every] of [
  [403, 25],
  [404, 25],
  [500, 25],
  [403, 2],
] as const)
  t.test(`one in ${every} that answers ${status}, all over the inventory, hides no other`, async (t) => {
    const count = every === 2 ? 200 : 2_000
    const isBad = (i: number) => i % every === every - 1
    let bad = 'bad-'
    const all = Array.from({ length: count }, (_, i) => object(`${isBad(i) ? 'bad' : 'good'}-${i}`))
    const attached = Object.fromEntries(all.map(({ value }) => [value, ['zone/z1']]))
    const { read: readTags, calls } = tagService(attached, (call) =>
      JSON.stringify(call.body ?? '').includes(bad) ? status : undefined,
    )
    const unread = async () => {
      const read = await readTags(all)
      return all.filter((each) => read.get(keyOf(each))?.tags.length !== 1)
    }
    const refused = all.filter(({ value }) => value.startsWith('bad'))
    t.same(await unread(), refused)
    t.ok(calls.length < 1_200, `${calls.length} calls`)
    calls.length = 0
    t.same(await unread(), refused)
    t.ok(calls.length <= 201, `${calls.length} calls when they are known`)
    bad = `bad-${every - 1}"`
    t.same(await unread(), refused.slice(0, 1), 'and each is asked for again')
    bad = 'none'
    t.same(await unread(), [])
  })

for (const status of [403, 500])
  t.test(
    `hundreds that answered ${status} are all read with the read after the reason has gone`,
    async (t) => {
      let [isBad, open, most] = [true, 0, 0]
      const all = Array.from({ length: 400 }, (_, i) => object(`${i % 2 === 1 ? 'bad' : 'good'}-${i}`))
      const attached = Object.fromEntries(all.map(({ value }) => [value, ['zone/z1']]))
      const { rest, calls } = tagService(attached, (call) =>
        isBad && JSON.stringify(call.body ?? '').includes('bad-') ? status : undefined,
      )
      const { read: readTags } = readerOf({
        ...rest,
        async call(call) {
          most = Math.max(most, ++open)
          await new Promise((resolve) => setImmediate(resolve))
          open--
          return await rest.call(call)
        },
      })
      const unread = async () => {
        const read = await readTags(all)
        return all.filter((each) => read.get(keyOf(each))?.tags.length !== 1)
      }
      const bad = all.filter(({ value }) => value.startsWith('bad'))
      t.same(await unread(), bad)
      most = 0
      t.same(await unread(), bad)
      t.equal(most, 4, 'side by side')
      isBad = false
      calls.length = 0
      t.same(await unread(), [])
      t.ok(calls.length < 20, `${calls.length} calls`)
    },
  )

/** Whether an object at this place is bad: every other one is, and these are. */
const orEven = (places: readonly number[]) => (i: number) => i % 2 === 0 || places.includes(i)
for (const [name, before, isBad] of [
  ['the first, the middle and the last', 0, orEven([199])],
  ['all that are tried', 2_000, orEven([57, 85, 171, 199])],
] as const)
  t.test(`half of the objects at which vCenter fails hide no other, ${name} among them`, async (t) => {
    const good = Array.from({ length: before }, (_, i) => object(`good-before-${i}`))
    const mixed = Array.from({ length: 200 }, (_, i) => object(`${isBad(i) ? 'bad' : 'good'}-${i}`))
    const all = [...good, ...mixed]
    const attached = Object.fromEntries(all.map(({ value }) => [value, ['zone/z1']]))
    const { read: readTags } = tagService(attached, (call) =>
      JSON.stringify(call.body ?? '').includes('bad-') ? 500 : undefined,
    )
    const read = await readTags(all)
    t.same(
      all.filter((each) => read.get(keyOf(each))?.tags.length !== 1),
      mixed.filter(({ value }) => value.startsWith('bad')),
    )
  })

t.test('two thousand that are refused hide none of those asked for after them', async (t) => {
  const refused = Array.from({ length: 2_000 }, (_, i) => object(`bad-${i}`))
  const next = Array.from({ length: 500 }, (_, i) => object(i === 250 ? 'bad-one' : `good-${i}`))
  const attached = Object.fromEntries(next.map(({ value }) => [value, ['zone/z1']]))
  const { read: readTags } = tagService(attached, (call) =>
    JSON.stringify(call.body ?? '').includes('bad-') ? 403 : undefined,
  )
  const read = await readTags([...refused, ...next])
  t.same(
    next.filter((each) => read.get(keyOf(each))?.tags.length !== 1).map(({ value }) => value),
    ['bad-one'],
  )
})

t.test(
  'where the few that are tried by themselves are all bad, others are tried the next time',
  async (t) => {
    const all = Array.from({ length: 200 }, (_, i) => object(`${i % 10 === 3 ? 'good' : 'bad'}-${i}`))
    const attached = Object.fromEntries(all.map(({ value }) => [value, ['zone/z1']]))
    const { read: readTags } = tagService(attached, (call) =>
      JSON.stringify(call.body ?? '').includes('bad-') ? 500 : undefined,
    )
    let read = new Map<string, ObjectTags>()
    for (let reads = 0; read.size === 0 && reads < 10; reads++)
      read = await readTags(all).catch(() => new Map<string, ObjectTags>())
    t.same(
      all.filter((each) => read.get(keyOf(each))?.tags.length === 1),
      all.filter(({ value }) => value.startsWith('good')),
    )
  },
)

t.test(
  'a login that is answered by 403 or 404 says nothing of objects, and is not sent for each',
  async (t) => {
    for (const status of [403, 404]) {
      const { rest, calls } = tagService({})
      const { read } = readerOf({
        ...rest,
        async call(call) {
          await rest.call(call)
          throw new RESTError('vc', 'session', status)
        },
      })
      await t.rejects(read(Array.from({ length: 100 }, (_, i) => object(`g-${i}`))), { message: /session/ })
      t.equal(calls.length, 1)
    }
  },
)

t.test('a tag service that knows no object at all is not up yet', async (t) => {
  const { read: readTags } = tagService({}, () => 404)
  for (const length of [100, 10, 10, 2])
    await t.rejects(readTags(Array.from({ length }, (_, i) => object(`g-${i}`))), { message: /404/ })
  const read = await readTags([object('gone')])
  t.match(read.get(keyOf(object('gone'))), { problems: [{ why: /404/ }] }, 'but one may be gone')
})

t.test('a single failure of vCenter is no trait of an object', async (t) => {
  let failures = 2
  const { read: readTags } = tagService({ a: ['zone/z1'] }, ({ resource }) =>
    resource === 'tagging/tag-association' && failures-- > 0 ? 500 : undefined,
  )
  const read = await readTags([object('a'), object('b')])
  t.match(read.get(keyOf(object('a'))), { tags: [{ name: 'z1' }], problems: [] })
})

t.test(
  'a vCenter that fails at every call, or at every one from some time on, fails as a whole',
  async (t) => {
    const all = Array.from({ length: 5_000 }, (_, i) => object(`g-${i}`))
    for (const answered of [0, 1]) {
      let left = answered
      const { read: readTags, calls } = tagService({}, ({ resource }) =>
        resource === 'tagging/tag-association' && left-- <= 0 ? 500 : undefined,
      )
      await t.rejects(readTags(all), { message: /500/ })
      t.ok(calls.length < 70, `${calls.length} calls`)
    }
  },
)

t.test('without any privilege the calls stay few', async (t) => {
  const { read: readTags, calls } = tagService({}, () => 403)
  const read = await readTags(Array.from({ length: 1_000 }, (_, i) => object(`g-${i}`)))
  t.ok(calls.length < 75, `${calls.length} calls`)
  t.ok([...read.values()].every((each) => each.problems.length === 1))
})

t.test('a tag that is refused is asked for again the next time', async (t) => {
  let refused = true
  const { read: readTags } = tagService({ a: ['zone/z1', 'region/r1'] }, (call) =>
    refused && call.id?.includes('zone') && call.method === 'GET' && call.resource === 'tagging/tag'
      ? 404
      : undefined,
  )
  const first = await readTags([object('a')])
  t.match(first.get(keyOf(object('a'))), {
    tags: [{ name: 'r1' }],
    problems: [{ why: /tag zone\/z1: .*404/, category: 'zone' }],
  })
  refused = false
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 2)
})

t.test('what is wrong with the service is thrown', async (t) => {
  const { read: readTags } = tagService({}, () => 503)
  await t.rejects(readTags([object('a')]), { reason: 'Unavailable', message: /503/ })
  const rest: RESTClient = {
    call: async () => [{ object_id: 'x' }],
    logout: () => Promise.resolve(),
  }
  const error = await readerOf(rest)
    .read([object('a')])
    .catch((error: unknown) => error)
  t.ok(error instanceof VCenterError)
  t.match(error, { reason: 'MalformedAnswer' })
})

t.test('when the service last answered, also with a refusal', async (t) => {
  const { reader, read: readTags, clock } = tagService({}, (call) => (call.method === 'GET' ? 503 : 403))
  await clock.turn(100)
  t.equal(reader.lastAnswer(), 0)
  await readTags([object('a')]).catch(() => undefined)
  t.equal(reader.lastAnswer(), 100)
})
