import t from 'tap'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import type { RESTCall, RESTClient } from '../session/rest.ts'
import { RESTAnswerError, RESTError } from '../session/rest-interfaces.ts'
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
  /** Names that tags have by now, by what they are called in `attached`. */
  const tags = new Map<string, string>()
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
        if (call.method === 'GET') return { name: tags.get(key) ?? key.split('/')[1] }
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
  return { ...readerOf(rest), rest, calls, tags }
}

/** Reads and resolves with all that was handed over. */
function readerOf(rest: RESTClient) {
  const clock = createHandClock()
  const categories = new Set(['zone', 'region'])
  const reader = createTagReader({ rest, categories, timings: TIMINGS, clock })
  const read = async (objects: readonly ManagedObjectReference[]) => {
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
  return { reader, read, clock }
}

t.test('tags of the categories of interest, each name read once', async (t) => {
  const { read: readTags, reader, calls } = setUp({ a: ['zone/z1', 'owner/me'], b: ['zone/z1', 'region/r1'] })
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
  const { read: readTags, calls } = setUp({})
  await readTags(Array.from({ length: 4_001 }, (_, i) => object(`g-${i}`)))
  t.equal(calls.filter((call) => call.startsWith('tagging/tag-association')).length, 3)
})

for (const status of [403, 404, 500])
  t.test(`one object that answers ${status} does not spoil the others`, async (t) => {
    const { read: readTags } = setUp({ a: ['zone/z1'], b: ['zone/z2'] }, (call) =>
      JSON.stringify(call.body ?? '').includes('"bad"') ? status : undefined,
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
      const { read: readTags } = setUp(attached, (call) =>
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
    const { read: readTags, calls } = setUp(attached, (call) =>
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
      const { rest, calls } = setUp(attached, (call) =>
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
    const { read: readTags } = setUp(attached, (call) =>
      JSON.stringify(call.body ?? '').includes('bad-') ? 500 : undefined,
    )
    const read = await readTags(all)
    t.same(
      all.filter((each) => read.get(keyOf(each))?.tags.length !== 1),
      mixed.filter(({ value }) => value.startsWith('bad')),
    )
  })

t.test(
  'a login that is answered by 403 or 404 says nothing of objects, and is not sent for each',
  async (t) => {
    for (const status of [403, 404]) {
      const { rest, calls } = setUp({})
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
  const { read: readTags } = setUp({}, () => 404)
  for (const length of [100, 10, 10, 2])
    await t.rejects(readTags(Array.from({ length }, (_, i) => object(`g-${i}`))), { message: /404/ })
  const read = await readTags([object('gone')])
  t.match(read.get(keyOf(object('gone'))), { problems: [{ why: /404/ }] }, 'but one may be gone')
})

t.test('a single failure of vCenter is no trait of an object', async (t) => {
  let failures = 2
  const { read: readTags } = setUp({ a: ['zone/z1'] }, ({ resource }) =>
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
      const { read: readTags, calls } = setUp({}, ({ resource }) =>
        resource === 'tagging/tag-association' && left-- <= 0 ? 500 : undefined,
      )
      await t.rejects(readTags(all), { message: /500/ })
      t.ok(calls.length < 70, `${calls.length} calls`)
    }
  },
)

t.test('without any privilege the calls stay few', async (t) => {
  const { read: readTags, calls } = setUp({}, () => 403)
  const read = await readTags(Array.from({ length: 1_000 }, (_, i) => object(`g-${i}`)))
  t.ok(calls.length < 75, `${calls.length} calls`)
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
  t.match(first.get(keyOf(object('a'))), {
    tags: [{ name: 'r1' }],
    problems: [{ why: /tag zone\/z1: .*404/, category: 'zone' }],
  })
  refused = false
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 2)
})

t.test('what is wrong with the service is thrown', async (t) => {
  const { read: readTags } = setUp({}, () => 503)
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
  t.match(read.get(keyOf(object('a'))), { tags: [], problems: [{ why: /categories: .*403/ }] })
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

const BAD = 'id of bad'
for (const status of [403, 404, 500])
  t.test(`a category that answers ${status} hides no other`, async (t) => {
    let refused = false
    const { read: readTags, reader } = setUp(
      { a: ['bad/x', 'zone/z1', 'region/r1'], b: ['bad/x'] },
      (call) => (refused && call.id === BAD ? status : undefined),
    )
    const objects = [object('a'), object('b')]
    for (const now of [true, false, true]) {
      refused = now
      const read = await readTags(objects)
      t.match(read.get(keyOf(object('a'))), { tags: [{ name: 'r1' }, { name: 'z1' }], problems: [] })
      t.same(read.get(keyOf(object('b'))), { tags: [], problems: [] })
      reader.refreshNames()
    }
  })

for (const [name, message, fail] of [
  ['fails', /500/, () => Promise.reject(new RESTError('vc', 'tagging/category', 500))],
  ['gives no JSON', /not JSON/, () => Promise.reject(new RESTAnswerError('tagging', 'not JSON'))],
  ['gives another form', /unknown form/, () => Promise.resolve({ title: 'x' })],
] as const)
  t.test(`a vCenter that ${name} at one category or tag, and at all`, async (t) => {
    const isOne = ({ resource, id }: RESTCall) => resource === 'tagging/category' && id !== undefined
    let failing: (call: RESTCall) => boolean = isOne
    let times = Number.POSITIVE_INFINITY
    const { calls, rest } = setUp({ a: ['bad/x', 'zone/z1', 'region/r1'] })
    const { read: readTags, reader } = readerOf({
      ...rest,
      async call(call) {
        const answer = await rest.call(call)
        return failing(call) && --times >= 0 ? await fail() : answer
      },
    })
    const read = async () => (await readTags([object('a')])).get(keyOf(object('a')))
    await t.rejects(read(), { message }, 'not that there are no categories')
    failing = ({ resource, id }) => resource === 'tagging/category' && id === undefined
    calls.length = 0
    await t.rejects(read(), { message }, 'the list')
    t.equal(calls.length, 2, 'it is not asked for again')
    failing = (call) => isOne(call) && call.id === BAD
    t.match(await read(), { tags: [{ name: 'r1' }, { name: 'z1' }], problems: [] })
    t.equal(calls.filter((call) => call.startsWith(`tagging/category ${BAD}`)).length, 2, 'once more')
    reader.refreshNames()
    failing = ({ id, method }) => id === 'zone/z1' && method === 'GET'
    t.match((await read())?.tags, [{ name: 'r1' }, { name: 'z1' }], 'what was read once stays')
    times = 1
    failing = ({ id, resource }) => id === 'id of zone' && resource === 'tagging/tag'
    reader.refreshNames()
    t.match(await read(), { tags: [{ name: 'r1' }, { name: 'z1' }], problems: [] }, 'it passes')
    times = Number.POSITIVE_INFINITY
    failing = ({ id, method, resource }) => id !== undefined && method === 'GET' && resource === 'tagging/tag'
    reader.refreshNames()
    await t.rejects(read(), { message }, 'all tags')
    failing = () => false
    t.match(await read(), { tags: [{ name: 'r1' }, { name: 'z1' }], problems: [] }, 'which are read again')
    const { read: first } = readerOf({
      ...rest,
      async call(call) {
        const answer = await rest.call(call)
        return call.method === 'POST' && call.resource === 'tagging/tag' ? await fail() : answer
      },
    })
    await t.rejects(first([object('a')]), { message }, 'the tags of all categories of interest')
  })

t.test('a login that fails in between is not about one category', async (t) => {
  for (const error of [new RESTError('vc', 'session', 500), new RESTAnswerError('session', 'not JSON')]) {
    const { rest } = setUp({ a: ['bad/x', 'zone/z1', 'region/r1'] })
    let attempts = 0
    const { read } = readerOf({
      ...rest,
      async call(call) {
        if (call.id !== BAD) return await rest.call(call)
        attempts++
        throw error
      },
    })
    await t.rejects(read([object('a')]), error)
    t.equal(attempts, 1)
  }
})

t.test(
  'a refused tag that has a name is asked for again with all names, and not with each read',
  async (t) => {
    let asked = 0
    let refuses = false
    const { rest } = setUp({ a: ['zone/z1', 'region/r1'] })
    const { read, reader } = readerOf({
      ...rest,
      async call(call) {
        if (!refuses || call.id !== 'zone/z1' || call.method !== 'GET') return await rest.call(call)
        asked++
        throw new RESTError('vc', call.resource, 403)
      },
    })
    await read([object('a')])
    refuses = true
    for (const times of [1, 2]) {
      reader.refreshNames()
      for (let i = 0; i < 3; i++) await read([object('a')])
      t.equal(asked, times)
    }
  },
)

t.test('one that may be the missing category leaves in doubt what could be its tags', async (t) => {
  const { read: readTags, reader } = setUp({ a: ['bad/x', 'region/r1'], b: ['region/r1'], c: [] }, (call) =>
    call.id === BAD ? 403 : undefined,
  )
  const read = await readTags(['a', 'b', 'c'].map(object))
  const problems = [{ why: /tag categories: .*403/, category: 'zone' }]
  t.match(read.get(keyOf(object('a'))), { tags: [{ name: 'r1' }], problems })
  for (const other of ['b', 'c']) t.same(read.get(keyOf(object(other)))?.problems, [])
  t.same(reader.lacking(), new Map(), 'nobody knows whether there is one')
  const gone = setUp({ a: ['bad/x', 'region/r1'] }, (call) => (call.id === BAD ? 404 : undefined))
  t.same((await gone.read([object('a')])).get(keyOf(object('a')))?.problems, [], 'one that is gone is none')
  t.same([...gone.reader.lacking()], [['zone', 'category']])
})

t.test('what was read once stays when it may not be read again, unless it is gone', async (t) => {
  let refuse: (call: RESTCall) => number | undefined = () => undefined
  const { read: readTags, reader } = setUp({ a: ['zone/z1', 'region/r1'] }, (call) => refuse(call))
  const tagsAgain = async () => {
    reader.refreshNames()
    return (await readTags([object('a')])).get(keyOf(object('a')))
  }
  const first = await tagsAgain()
  t.equal(first?.tags.length, 2)
  const isNamed = ({ resource }: RESTCall) => resource !== 'tagging/tag-association'
  refuse = (call) => (isNamed(call) ? 403 : undefined)
  t.same(await tagsAgain(), first)
  refuse = (call) => (isNamed(call) && call.id?.includes('zone') ? 404 : undefined)
  t.match((await tagsAgain())?.tags, [{ name: 'r1' }])
  refuse = () => undefined
  t.same(await tagsAgain(), first)
})

t.test('categories and names are asked for side by side', async (t) => {
  let [open, most] = [0, 0]
  const attached = { a: Array.from({ length: 62 }, (_, i) => `category ${i}/x`) }
  const { read: readTags, calls } = setUp(attached, () => undefined)
  const rest: RESTClient = {
    async call(call) {
      most = Math.max(most, ++open)
      await new Promise((resolve) => setImmediate(resolve))
      open--
      if (call.resource === 'tagging/category' && call.id === undefined) return attached.a
      if (call.resource === 'tagging/category') return { name: call.id }
      return []
    },
    logout: () => Promise.resolve(),
  }
  await readerOf(rest).read([object('a')])
  t.equal(most, 4)
  await readTags([object('a')])
  t.equal(calls.length, 1 + 1 + 62, 'each of them once')
})

t.test('when the service last answered, also with a refusal', async (t) => {
  const { reader, read: readTags, clock } = setUp({}, (call) => (call.method === 'GET' ? 503 : 403))
  await clock.turn(100)
  t.equal(reader.lastAnswer(), 0)
  await readTags([object('a')]).catch(() => undefined)
  t.equal(reader.lastAnswer(), 100)
})

t.test('why a category has no tag', async (t) => {
  const lacks = async (attached: Record<string, string[]>, rest?: RESTClient) => {
    const { reader, read: readTags } = rest === undefined ? setUp(attached) : readerOf(rest)
    await readTags([object('a')])
    return Object.fromEntries(reader.lacking())
  }
  t.same(await lacks({}), { zone: 'categories', region: 'categories' })
  t.same(await lacks({ a: ['owner/me'] }), { zone: 'category', region: 'category' })
  t.same(await lacks({ b: ['zone/z1', 'region/r1'] }), {}, 'whether or not this object has one')
  const empty: RESTClient = {
    async call({ resource, id }) {
      if (resource !== 'tagging/category') return []
      return id === undefined ? ['zone', 'region'] : { name: id }
    },
    logout: () => Promise.resolve(),
  }
  t.same(await lacks({}, empty), { zone: 'tags', region: 'tags' })
  const { reader } = setUp({})
  t.same(reader.lacking(), new Map(), 'before anything was read')
})

/** A tag service whose categories, tags (with the IDs of their categories) and attachments can be changed. */
function changing() {
  const categories = new Map([
    ['c1', 'zone'],
    ['c2', 'region'],
    ['c3', 'other'],
  ])
  const tags = new Map([
    ['t1', { of: 'c1', name: 'z1' }],
    ['t3', { of: 'c3', name: 'z3' }],
  ])
  const attached: Record<string, string[]> = { a: ['t1', 't3'] }
  const service = { refuse: (_: RESTCall): number | undefined => undefined }
  const rest: RESTClient = {
    async call(call) {
      const { resource, method, id = '' } = call
      const status = service.refuse(call)
      if (status !== undefined) throw new RESTError('vc', resource, status)
      if (resource === 'tagging/tag-association')
        return Object.entries(attached).map(([id, tag_ids]) => ({
          object_id: { type: 'Folder', id },
          tag_ids,
        }))
      if (resource === 'tagging/category')
        return id === '' ? [...categories.keys()] : { name: categories.get(id) }
      if (method === 'GET') return { name: tags.get(id)?.name }
      return [...tags].flatMap(([tag, { of }]) => (of === id ? tag : []))
    },
    logout: () => Promise.resolve(),
  }
  const { reader, read } = readerOf(rest)
  const tagsOf = async (name: string) => (await read([object(name)])).get(keyOf(object(name)))
  return {
    service,
    reader,
    categories,
    tags,
    attached,
    tagsOf,
    /** The names of the zones on an object, all read anew. */
    async zones(name = 'a') {
      reader.refreshNames()
      const read = await tagsOf(name)
      return read?.tags.flatMap(({ category, name }) => (category === 'zone' ? name : []))
    },
  }
}

t.test('tags and categories that are renamed', async (t) => {
  const { reader, categories, tags, zones } = changing()
  t.same(await zones(), ['z1'])
  tags.set('t1', { of: 'c1', name: 'z2' })
  t.same(await zones(), ['z2'])
  categories.set('c1', 'former')
  categories.set('c3', 'zone')
  t.same(await zones(), ['z3'])
  categories.set('c3', 'other')
  t.same(await zones(), [])
  t.equal(reader.lacking().get('zone'), 'category')
})

for (const status of [403, 500])
  t.test(
    `a category that is renamed while it answers ${status} loses its name to the one that has it now`,
    async (t) => {
      const { service, categories, attached, zones, tagsOf } = changing()
      attached.far = ['t1']
      t.same(await zones('far'), ['z1'])
      service.refuse = ({ resource, id }) =>
        resource === 'tagging/category' && id === 'c1' ? status : undefined
      t.same(await zones('far'), ['z1'], 'the name stays while no other has it')
      categories.set('c1', 'former')
      categories.set('c3', 'zone')
      t.same(await zones('far'), [])
      t.same(await zones('a'), ['z3'])
      categories.set('c4', 'unreadable')
      categories.set('c3', 'other')
      service.refuse = ({ resource, id }) =>
        resource === 'tagging/category' && (id === 'c3' || id === 'c4') ? 403 : undefined
      t.same(await zones('a'), ['z3'])
      attached.near = ['t4']
      t.match(await tagsOf('near'), { problems: [{ why: /403/, category: 'zone' }] }, 'it may be the other')
    },
  )

for (const status of [403, 404])
  t.test(
    `the tags of a category do not stay with its name while those of the next answer ${status}`,
    async (t) => {
      const { service, categories, attached, zones, tagsOf } = changing()
      attached.far = ['t1']
      t.same(await zones('far'), ['z1'])
      categories.set('c1', 'former')
      categories.set('c3', 'zone')
      service.refuse = ({ method, id }) => (method === 'POST' && id === 'c3' ? status : undefined)
      t.same(await zones('far'), [])
      t.match(await tagsOf('a'), { tags: [], problems: [{ why: /./, category: 'zone' }] })
      service.refuse = () => undefined
      t.same(await zones('far'), [])
      t.same(await zones('a'), ['z3'])
    },
  )

for (const [name, answer] of [
  ['answers later than others', undefined],
  ['is gone for one call', 404],
] as const)
  t.test(`a category that ${name} has its tags not listed again`, async (t) => {
    const { rest, calls } = setUp({ a: ['owner/me', 'zone/z1', 'region/r1'] })
    let isOdd = false
    const { read, reader } = readerOf({
      ...rest,
      async call(call) {
        if (!isOdd || call.id !== 'id of zone') return await rest.call(call)
        isOdd = false
        for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
        if (answer !== undefined) throw new RESTError('vc', call.resource, answer)
        return await rest.call(call)
      },
    })
    const first = await read([object('a')])
    calls.length = 0
    isOdd = true
    reader.refreshNames()
    t.same(await read([object('a')]), first)
    t.notOk(isOdd)
    t.same(
      calls.filter((call) => call.includes('list-tags-for-category')),
      [],
    )
  })

t.test('two categories that swap their names', async (t) => {
  const { service, categories, tags, zones } = changing()
  tags.set('t3', { of: 'c2', name: 'r1' })
  t.same(await zones(), ['z1'])
  categories.set('c1', 'region')
  categories.set('c2', 'zone')
  service.refuse = ({ method, id }) => (method === 'POST' && (id === 'c1' || id === 'c2') ? 403 : undefined)
  t.same(await zones(), ['r1'])
})

t.test(
  'one tag, or the tags of one category, at which vCenter fails for good hide none that come later',
  async (t) => {
    const { service, tags, attached, tagsOf } = changing()
    tags.set('t5', { of: 'c1', name: 'z5' })
    await tagsOf('a')
    service.refuse = ({ method, id }) => (method === 'GET' && id === 't5' ? 500 : undefined)
    attached.b = ['t5']
    t.match(await tagsOf('b'), { tags: [], problems: [{ why: /tag t5: .*500/, category: 'zone' }] })
    service.refuse = ({ resource, id }) => (resource === 'tagging/tag' && id !== undefined ? 500 : undefined)
    await t.rejects(tagsOf('b'), { message: /500/ }, 'the service itself')
  },
)

t.test('other tags of a category that give the same label', async (t) => {
  const attached = { a: ['zone/z 1'], b: ['zone/z-1', 'zone/z(1)', 'region/z 1', 'zone/z 2', 'zone/北京-1'] }
  const { read: readTags, calls } = setUp(attached)
  const read = await readTags([object('a')])
  t.same(read.get(keyOf(object('a')))?.tags, [{ category: 'zone', name: 'z 1', alike: ['z(1)', 'z-1'] }])
  t.equal(calls.filter((call) => call.startsWith('tagging/tag ') && call.endsWith(' ')).length, 5)
  const plain = setUp({ a: ['zone/z1'], b: ['zone/z 1'] })
  t.same((await plain.read([object('a')])).get(keyOf(object('a')))?.tags, [{ category: 'zone', name: 'z1' }])
})

t.test('others of a category that may not be read may give the same label', async (t) => {
  let status: number | undefined = 403
  const attached = { a: ['zone/z 1'], b: ['zone/z(1)', 'region/z(1)'], c: ['zone/z2'] }
  const { read } = setUp(attached, ({ id, method }) =>
    id === 'zone/z(1)' && method === 'GET' ? status : undefined,
  )
  const tag = async (name: string) => (await read([object(name)])).get(keyOf(object(name)))?.tags[0]
  const named = { category: 'zone', name: 'z 1' }
  t.match(await tag('a'), { ...named, unnamed: [/tag zone\/z\(1\): .*403/] })
  t.same(await tag('c'), { category: 'zone', name: 'z2' })
  t.same(await tag('b'), { category: 'region', name: 'z(1)' })
  status = 404
  t.same(await tag('a'), named, 'one that is gone gives none')
  status = undefined
  t.same(await tag('a'), { ...named, alike: ['z(1)'] })
})

t.test('a tag of another category, or one that has another name by now, gives no other label', async (t) => {
  const attached = { a: ['zone/z 1', 'region/z 1'], b: ['zone/z-1'] }
  const { read, reader, tags } = setUp(attached)
  const named = async () => (await read([object('a')])).get(keyOf(object('a')))?.tags
  const region = { category: 'region', name: 'z 1' }
  t.same(await named(), [region, { category: 'zone', name: 'z 1', alike: ['z-1'] }])
  tags.set('zone/z-1', 'z-2')
  t.same(await named(), [region, { category: 'zone', name: 'z 1', alike: ['z-1'] }], 'nothing was read again')
  reader.refreshNames()
  t.same(await named(), [region, { category: 'zone', name: 'z 1' }])
})

t.test(
  'while a category may not be read, it is looked for once a read, however many objects there are',
  async (t) => {
    const many = Array.from({ length: 4_001 }, (_, i) => object(`vm-${i}`))
    const attached = Object.fromEntries(many.map(({ value }) => [value, ['bad/x']]))
    const { read: readTags, calls } = setUp(attached, (call) => (call.id === BAD ? 403 : undefined))
    await readTags(many)
    const asked = (what: string) => calls.filter((call) => call.startsWith(what)).length
    t.equal(asked('tagging/tag-association'), 3)
    t.equal(asked(`tagging/category ${BAD}`), 1)
  },
)

t.test('a category that goes while it is read is looked for by its name in the next read', async (t) => {
  let [ids, gone] = [['c1', 'region'], false]
  const rest: RESTClient = {
    async call({ resource, method, id }) {
      if (resource === 'tagging/tag-association')
        return [{ object_id: { type: 'Folder', id: 'a' }, tag_ids: [gone ? 't2' : 't1'] }]
      if (resource === 'tagging/category')
        return id === undefined ? ids : { name: id === 'region' ? id : 'zone' }
      if (id === 'region') return []
      if (method === 'GET') return { name: id }
      if (id === 'c1' && gone) throw new RESTError('vc', resource, 404)
      return id === 'c1' ? ['t1'] : ['t2']
    },
    logout: () => Promise.resolve(),
  }
  const { read } = readerOf(rest)
  const zones = async () => (await read([object('a')])).get(keyOf(object('a')))
  t.match(await zones(), { tags: [{ name: 't1' }], problems: [] })
  gone = true
  t.match(await zones(), { tags: [], problems: [{ category: 'zone' }] })
  ids = ['c2', 'region']
  t.match(await zones(), { tags: [{ name: 't2' }], problems: [] })
})

t.test('a category that gets its first tag is not said to have none, attached or not', async (t) => {
  const tags: Record<string, string[]> = { zone: [], region: [] }
  const rest: RESTClient = {
    async call({ resource, id = '' }) {
      if (resource === 'tagging/tag') return tags[id]
      if (resource === 'tagging/category') return id === '' ? Object.keys(tags) : { name: id }
      return []
    },
    logout: () => Promise.resolve(),
  }
  const { reader, read } = readerOf(rest)
  const lacking = async () => {
    reader.refreshNames()
    await read([object('a')])
    return Object.fromEntries(reader.lacking())
  }
  t.same(await lacking(), { zone: 'tags', region: 'tags' })
  tags.zone = ['t1']
  t.same(await lacking(), { region: 'tags' })
})
