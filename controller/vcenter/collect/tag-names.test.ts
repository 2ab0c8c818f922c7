import t from 'tap'
import { object, tagService } from '../testing/tag-service.ts'
import { keyOf } from '../wire/managed-object-reference.ts'

const BAD = 'id of bad'

t.test('names by the thousand take several reads', async (t) => {
  const { read: readTags, calls } = tagService({ a: Array.from({ length: 5_000 }, (_, i) => `zone/${i}`) })
  for (let i = 0; i < 2; i++) {
    calls.length = 0
    await t.rejects(readTags([object('a')]), { reason: 'Unavailable', message: /2000 calls/ })
    t.equal(calls.length, 2_001)
  }
  t.equal((await readTags([object('a')])).get(keyOf(object('a')))?.tags.length, 5_000)
})

t.test('other tags of a category that give the same label', async (t) => {
  const attached = { a: ['zone/z 1'], b: ['zone/z-1', 'zone/z(1)', 'region/z 1', 'zone/z 2', 'zone/北京-1'] }
  const { read: readTags, calls } = tagService(attached)
  const read = await readTags([object('a')])
  t.same(read.get(keyOf(object('a')))?.tags, [{ category: 'zone', name: 'z 1', alike: ['z(1)', 'z-1'] }])
  t.equal(calls.filter((call) => call.startsWith('tagging/tag ') && call.endsWith(' ')).length, 5)
  const plain = tagService({ a: ['zone/z1'], b: ['zone/z 1'] })
  t.same((await plain.read([object('a')])).get(keyOf(object('a')))?.tags, [{ category: 'zone', name: 'z1' }])
})

t.test('others of a category that may not be read may give the same label', async (t) => {
  let status: number | undefined = 403
  const attached = { a: ['zone/z 1'], b: ['zone/z(1)', 'region/z(1)'], c: ['zone/z2'] }
  const { read } = tagService(attached, ({ id, method }) =>
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
  const { read, reader, tags } = tagService(attached)
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
    const { read: readTags, calls } = tagService(attached, (call) => (call.id === BAD ? 403 : undefined))
    await readTags(many)
    const asked = (what: string) => calls.filter((call) => call.startsWith(what)).length
    t.equal(asked('tagging/tag-association'), 3)
    t.equal(asked(`tagging/category ${BAD}`), 1)
  },
)
