import t from 'tap'
import type { RESTCall, RESTClient } from '../session/rest.ts'
import { RESTAnswerError, RESTError } from '../session/rest-interfaces.ts'
import { object, readerOf, tagService } from '../testing/tag-service.ts'
import { keyOf } from '../wire/managed-object-reference.ts'

t.test('tags of no interest cost no calls of their own', async (t) => {
  const foreign = Array.from({ length: 100_000 }, (_, i) => `owner/${i}`)
  const attached: Record<string, string[]> = { a: [...foreign, 'zone/z1', 'region/r1'] }
  const { read: readTags, calls } = tagService(attached)
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 2)
  t.ok(calls.length <= 10, `${calls.length} calls`)
  calls.length = 0
  await readTags([object('a')])
  t.equal(calls.length, 1)
})

t.test('a tag and a category that come later are found', async (t) => {
  const attached: Record<string, string[]> = { a: ['zone/z1'] }
  const { read: readTags, calls } = tagService(attached)
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
  const { read: readTags } = tagService({ a: ['zone/z1'], b: [] }, (call) =>
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
  const read = await tagService(attached).read([object('a')])
  t.same(read.get(keyOf(object('a')))?.tags, [{ category: 'zone', name: 'z1' }])
})

const BAD = 'id of bad'
for (const status of [403, 404, 500])
  t.test(`a category that answers ${status} hides no other`, async (t) => {
    let refused = false
    const { read: readTags, reader } = tagService(
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
    const { calls, rest } = tagService({ a: ['bad/x', 'zone/z1', 'region/r1'] })
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
    const { rest } = tagService({ a: ['bad/x', 'zone/z1', 'region/r1'] })
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
    const { rest } = tagService({ a: ['zone/z1', 'region/r1'] })
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
  const { read: readTags, reader } = tagService(
    { a: ['bad/x', 'region/r1'], b: ['region/r1'], c: [] },
    (call) => (call.id === BAD ? 403 : undefined),
  )
  const read = await readTags(['a', 'b', 'c'].map(object))
  const problems = [{ why: /tag categories: .*403/, category: 'zone' }]
  t.match(read.get(keyOf(object('a'))), { tags: [{ name: 'r1' }], problems })
  for (const other of ['b', 'c']) t.same(read.get(keyOf(object(other)))?.problems, [])
  t.match([...reader.lacking()], [['zone', { unread: /HTTP status/ }]], 'nobody knows whether there is one')
  const gone = tagService({ a: ['bad/x', 'region/r1'] }, (call) => (call.id === BAD ? 404 : undefined))
  t.same((await gone.read([object('a')])).get(keyOf(object('a')))?.problems, [], 'one that is gone is none')
  t.same([...gone.reader.lacking()], [['zone', 'category']])
})

t.test('what was read once stays when it may not be read again, unless it is gone', async (t) => {
  let refuse: (call: RESTCall) => number | undefined = () => undefined
  const { read: readTags, reader } = tagService({ a: ['zone/z1', 'region/r1'] }, (call) => refuse(call))
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
  const { read: readTags, calls } = tagService(attached, () => undefined)
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

t.test('why a category has no tag', async (t) => {
  const lacks = async (attached: Record<string, string[]>, rest?: RESTClient) => {
    const { reader, read: readTags } = rest === undefined ? tagService(attached) : readerOf(rest)
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
  const { reader } = tagService({})
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
  const hidden = new Set<string>()
  const isShown = (id: string): boolean => !hidden.has(id) && !hidden.has(tags.get(id)?.of ?? '')
  const rest: RESTClient = {
    async call(call) {
      const { resource, method, id = '' } = call
      const status = isShown(id) ? service.refuse(call) : 403
      if (status !== undefined) throw new RESTError('vc', resource, status)
      if (resource === 'tagging/tag-association')
        return Object.entries(attached).map(([id, tag_ids]) => ({
          object_id: { type: 'Folder', id },
          tag_ids: tag_ids.filter(isShown),
        }))
      if (resource === 'tagging/category')
        return id === '' ? [...categories.keys()].filter(isShown) : { name: categories.get(id) }
      if (method === 'GET') return { name: tags.get(id)?.name }
      return [...tags].flatMap(([tag, { of }]) => (of === id ? tag : []))
    },
    logout: () => Promise.resolve(),
  }
  const { reader, read } = readerOf(rest)
  const tagsOf = async (name: string) => (await read([object(name)])).get(keyOf(object(name)))
  return {
    service,
    /** IDs of categories on which the account has no rights: named, they are refused; lists and objects leave them out. */
    hidden,
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

/** The same with a tag of each category of interest. */
function changingBoth() {
  const all = changing()
  all.tags.set('t2', { of: 'c2', name: 'r1' })
  all.attached.a = ['t1', 't2', 't3']
  return all
}

for (const [name, ids, lack] of [
  ['on a category', ['c1'], 'category'],
  ['on all categories', ['c1', 'c2', 'c3'], 'categories'],
] as const)
  t.test(`the rights ${name} are lost, and come back`, async (t) => {
    const { hidden, reader, zones, tagsOf } = changingBoth()
    t.same(await zones(), ['z1'])
    for (const id of ids) hidden.add(id)
    t.same(await zones(), [])
    t.equal(reader.lacking().get('zone'), lack)
    const regions = lack === 'category' ? [{ category: 'region', name: 'r1' }] : []
    t.same(await tagsOf('a'), { tags: regions, problems: [] }, 'the others stay')
    hidden.clear()
    t.same(await zones(), ['z1'])
    t.same(reader.lacking(), new Map())
  })

t.test('the rights on a category are lost beside one that is refused', async (t) => {
  const { service, hidden, reader, zones, tagsOf } = changingBoth()
  t.same(await zones(), ['z1'])
  service.refuse = ({ id }) => (id === 'c3' ? 403 : undefined)
  t.same(await zones(), ['z1'])
  hidden.add('c1')
  t.same(await zones(), [])
  t.match(reader.lacking().get('zone'), { unread: /HTTP status/ })
  t.same((await tagsOf('a'))?.tags, [{ category: 'region', name: 'r1' }])
})

for (const [name, refuse] of [
  [
    'its name and the list of categories',
    ({ id, resource }) => id === 'c1' || resource === 'tagging/category',
  ],
  ['its name and the list of its tags', ({ id }) => id === 'c1'],
  ['the list of its tags', ({ id, resource }) => id === 'c1' && resource === 'tagging/tag'],
] as const satisfies readonly [string, (call: RESTCall) => boolean][])
  for (const status of name === 'its name and the list of categories' ? [403] : [403, 500])
    t.test(`no object shows a tag of a category, and ${name} answer ${status}`, async (t) => {
      const { service, reader, attached, tagsOf, zones } = changingBoth()
      t.same(await zones(), ['z1'])
      attached.a = ['t2', 't3']
      service.refuse = (call) => (refuse(call) ? status : undefined)
      for (const time of ['at once', 'and later'])
        t.match([await zones(), reader.lacking().get('zone')], [[], { unread: /HTTP status/ }], time)
      await tagsOf('a')
      t.match(reader.lacking().get('zone'), { unread: /HTTP status/ }, 'in a read between two refreshes too')
      attached.a = ['t1', 't2', 't3']
      t.same([await zones(), reader.lacking().get('zone')], [['z1'], undefined], 'what it shows counts')
      service.refuse = () => undefined
      attached.a = ['t2', 't3']
      t.same([await zones(), reader.lacking().get('zone')], [[], undefined], 'the tag is detached')
    })

t.test('a category loses its tags, and gets one', async (t) => {
  const { reader, tags, attached, zones } = changingBoth()
  t.same(await zones(), ['z1'])
  t.equal(reader.lacking().get('zone'), undefined)
  tags.delete('t1')
  attached.a = ['t2', 't3']
  t.same(await zones(), [])
  t.equal(reader.lacking().get('zone'), 'tags')
  tags.set('t4', { of: 'c1', name: 'z4' })
  t.same(await zones(), [])
  t.equal(reader.lacking().get('zone'), undefined, 'there is one, which is attached to nothing')
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
    const { rest, calls } = tagService({ a: ['owner/me', 'zone/z1', 'region/r1'] })
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
