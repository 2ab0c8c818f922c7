import t from 'tap'
import { AnswerTooLongError, type KubeClient } from './client.ts'
import { readList } from './list.ts'

interface Page {
  readonly items: readonly unknown[] | null
  readonly next: string
}

/** Reads a list of the pages that `page` gives for each token. */
async function read(page: (token: string, asked: number) => Page) {
  const objects: unknown[] = []
  let asked = 0
  const client: KubeClient = {
    async request({ query }) {
      asked++
      if (asked > 5_000) throw new Error('it does not end')
      const { items, next } = page(query?.continue ?? '', asked)
      return { metadata: { resourceVersion: '7', ...(next && { continue: next }) }, items }
    },
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  }
  const version = await readList(
    client,
    { path: '/x' },
    (object) => objects.push(object),
    new AbortController().signal,
  )
  return { version, objects, asked }
}

t.test('page by page', async (t) => {
  const pages: Record<string, Page> = {
    '': { items: [1, 2], next: 'b' },
    b: { items: [3], next: 'c' },
    c: { items: [], next: '' },
  }
  const none = { items: null, next: '' }
  t.same(await read((token) => pages[token] ?? none), { version: '7', objects: [1, 2, 3], asked: 3 })
  t.same(await read(() => none), { version: '7', objects: [], asked: 1 }, 'none at all')
  const many = await read((_, asked) => ({ items: [asked], next: asked < 1_000 ? `${asked}` : '' }))
  t.equal(many.objects.length, 1_000)
})

t.test('a list that does not end', async (t) => {
  const cases: readonly [string, (token: string, asked: number) => Page, RegExp][] = [
    [
      'nothing, and more',
      (_, asked) => ({ items: [], next: `${asked}` }),
      /^GET \/x .* an empty page that is not/,
    ],
    ['the same again', () => ({ items: [1], next: 'a' }), /^GET \/x .* goes back to an earlier one/],
    [
      'a circle',
      (_, asked) => ({ items: [1], next: `${asked % 3}` }),
      /^GET \/x .* goes back to an earlier one/,
    ],
    ['ever more', (_, asked) => ({ items: [1], next: `${asked}` }), /^GET \/x .* more than 1000 pages/],
  ]
  for (const [name, page, message] of cases) await t.rejects(read(page), { message }, name)
})

t.test('a page that is too long is read in smaller ones', async (t) => {
  const sizes = [1, 1, 9, 1, 1, 1, 9]
  const asked: string[] = []
  /** An answer may have ten of them. */
  const client = (fits: number): KubeClient => ({
    async request({ query }) {
      const from = Number(query?.continue ?? 0)
      const items = sizes.slice(from, from + Number(query?.limit))
      asked.push(`${query?.limit} from ${from}`)
      if (items.reduce((sum, size) => sum + size, 0) > fits) throw new AnswerTooLongError('too long')
      const next = from + items.length
      return {
        metadata: { resourceVersion: '7', ...(next < sizes.length && { continue: `${next}` }) },
        items,
      }
    },
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  })
  const objects: unknown[] = []
  const { signal } = new AbortController()
  const readBy = (fits: number) => readList(client(fits), { path: '/x' }, (one) => objects.push(one), signal)
  await readBy(11)
  t.same(objects, sizes)
  t.same(asked.slice(-4), ['7 from 0', '3 from 0', '3 from 3', '3 from 6'])
  await t.rejects(readBy(8), AnswerTooLongError, 'one object alone')
})
