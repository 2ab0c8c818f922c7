import type { ServerResponse } from 'node:http'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { createInformer, type Informer, readLines } from './informer.ts'
import { type ApiStub, answer, startApiStub } from './testing/api-stub.ts'
import { createLogLines } from './testing/log-lines.ts'

interface Thing {
  readonly name: string
  readonly resourceVersion: string
}

const thing = (name: string, resourceVersion: number, extra = {}) => ({
  metadata: { name, resourceVersion: String(resourceVersion) },
  ...extra,
})
const list = (resourceVersion: number, ...items: object[]) => ({
  metadata: { resourceVersion: String(resourceVersion) },
  items,
})
const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`
const gone = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }

/** What a round of the stub's server gives: a list (or an error) and what its watches do, one after the other. */
interface Script {
  readonly lists: (object | number)[]
  readonly watches: ((response: ServerResponse) => void)[]
}

interface Run extends AsyncDisposable {
  readonly stub: ApiStub
  readonly watch: Informer<Thing>
  /** `name: previous -> current` of each change. */
  readonly changes: string[]
  readonly log: ReturnType<typeof createLogLines>
  readonly ended: Promise<void>
}

/** Runs an informer against a server that follows the script; its last list and watch are repeated. */
async function run({ lists, watches }: Script, onChange?: () => void): Promise<Run> {
  const stub = await startApiStub((_, response, url) => {
    if (url.searchParams.has('watch')) {
      const act = watches.length > 1 ? watches.shift() : watches[0]
      response.writeHead(200, { 'content-type': 'application/json' })
      response.flushHeaders()
      act?.(response)
      return
    }
    const next = lists.length > 1 ? lists.shift() : lists[0]
    if (typeof next === 'number') answer(response, next, { ...gone, code: next, reason: 'Sorry' })
    else answer(response, 200, next)
  })
  const stop = new AbortController()
  const changes: string[] = []
  const log = createLogLines()
  const watch = createInformer<Thing>({
    client: stub.client,
    path: '/api/v1/things',
    parse: (object) => {
      const { metadata, hidden } = object as { metadata: Thing; hidden?: boolean }
      return hidden ? undefined : { name: metadata.name, resourceVersion: metadata.resourceVersion }
    },
    onChange(name, current, previous) {
      onChange?.()
      changes.push(`${name}: ${previous?.resourceVersion ?? '-'} -> ${current?.resourceVersion ?? '-'}`)
    },
    onSynced: () => changes.push('synced'),
    clock: systemClock,
    random: () => 0,
    logger: log.logger,
  })
  const ended = watch.run(stop.signal)
  // Looked at by the test that expects it to fail.
  ended.catch(() => undefined)
  return {
    stub,
    watch,
    changes,
    log,
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await ended.catch(() => undefined)
      await stub[Symbol.asyncDispose]()
    },
  }
}

const silent = () => undefined

t.test('lists in pages, then watches', async (t) => {
  const first = { ...list(10, thing('a', 1)), metadata: { resourceVersion: '10', continue: 'next page' } }
  await using it = await run({
    lists: [first, list(10, thing('b', 2))],
    watches: [
      (response) => {
        response.write(line('ADDED', thing('c', 11)))
        response.write(line('MODIFIED', thing('a', 12)))
        response.write(line('DELETED', thing('b', 13)))
      },
    ],
  })
  await until('all is seen', () => it.changes.length === 6)
  t.same(it.changes, ['a: - -> 1', 'b: - -> 2', 'synced', 'c: - -> 11', 'a: 1 -> 12', 'b: 2 -> -'])
  t.same([...it.watch.values()], [it.watch.get('a'), it.watch.get('c')])
  t.equal(it.watch.size, 2)
  t.ok(it.watch.synced)
  t.same(it.stub.requests, [
    'GET /api/v1/things?limit=250',
    'GET /api/v1/things?limit=250&continue=next+page',
    'GET /api/v1/things?watch=true&allowWatchBookmarks=true&resourceVersion=10&timeoutSeconds=300',
  ])
})

t.test('resumes after the last event or bookmark, wherever the connection broke', async (t) => {
  const tail = line('ADDED', thing('c', 30))
  await using it = await run({
    lists: [list(10, thing('a', 1))],
    watches: [
      // The server's own end, in the middle of a line, and a reset.
      (response) => response.end(line('MODIFIED', thing('a', 11))),
      (response) => response.end(line('BOOKMARK', thing('', 20)) + tail.slice(0, 30)),
      (response) => response.write(line('ADDED', thing('b', 25)), () => response.destroy()),
      (response) => response.write(tail),
    ],
  })
  await until('the last is seen', () => it.watch.get('c') !== undefined)
  t.same(it.changes, ['a: - -> 1', 'synced', 'a: 1 -> 11', 'b: - -> 25', 'c: - -> 30'])
  t.same(
    it.stub.requests.map((request) => /resourceVersion=(\d+)/.exec(request)?.[1]),
    [undefined, '10', '11', '20', '25'],
  )
  t.same(
    it.log.messages().filter((message) => message !== 'watch still fails'),
    ['watch failed', 'watch works again'],
    'a clean end is no failure; a reset is',
  )
})

const unreadable: [string, (response: ServerResponse) => void][] = [
  ['410 in the stream', (response) => response.write(line('ERROR', gone))],
  ['another error in the stream', (response) => response.write(line('ERROR', { kind: 'Status', code: 500 }))],
  ['an error without a Status', (response) => response.write(line('ERROR', {}))],
  ['a line that is no JSON', (response) => response.write('{"type":"ADDED","object":{"meta\n')],
  ['a line that is no event', (response) => response.write('[]\n')],
  ['an unknown event', (response) => response.write(line('RENAMED', thing('a', 11)))],
  ['an object without metadata', (response) => response.write(line('ADDED', {}))],
  ['a page of HTML', (response) => response.end('<html>\n<body>Bad Gateway</body>\n')],
  ['a line without end', (response) => response.write('x'.repeat(11 * 1024 * 1024))],
]
for (const [what, act] of unreadable) {
  t.test(`lists anew after ${what}, and tells only differences`, async (t) => {
    await using it = await run({
      lists: [
        list(10, thing('same', 1), thing('changed', 2), thing('gone', 3)),
        list(50, thing('same', 1), thing('changed', 40), thing('new', 50)),
      ],
      watches: [act, silent],
    })
    await until('it watches again', () => it.stub.requests.length === 4)
    t.same(it.changes.slice(4), ['gone: 3 -> -', 'changed: 2 -> 40', 'new: - -> 50'])
    t.match(it.stub.requests.at(-1), /resourceVersion=50/)
    t.equal(it.log.messages()[0], 'watch failed')
  })
}

t.test('lists anew when the server has forgotten the place (410 as status)', async (t) => {
  let watches = 0
  await using stub = await startApiStub((_, response, url) => {
    if (!url.searchParams.has('watch')) answer(response, 200, list(10 + watches, thing('a', 1)))
    else if (watches++ === 0) answer(response, 410, gone)
    else response.writeHead(200).flushHeaders()
  })
  const stop = new AbortController()
  const { logger } = createLogLines()
  const watch = createInformer<Thing>({
    client: stub.client,
    path: '/api/v1/things',
    parse: () => ({ name: 'a', resourceVersion: '1' }),
    onChange: () => undefined,
    clock: systemClock,
    random: () => 0,
    logger,
  })
  const ended = watch.run(stop.signal)
  await until('it watches again', () => watches === 2)
  stop.abort()
  await ended
  t.match(stub.requests, [/limit/, /watch.*resourceVersion=10/, /limit/, /watch.*resourceVersion=11/])
})

t.test('keeps trying when the list fails, in whatever way', async (t) => {
  await using it = await run({
    lists: [500, 429, 403, { kind: 'Nonsense' }, list(10, thing('a', 1))],
    watches: [silent],
  })
  await until('it is synced', () => it.watch.synced)
  t.same(it.changes, ['a: - -> 1', 'synced'])
  t.equal(it.log.lines.filter(({ level }) => level === 40).length, 1, 'warned once')
})

t.test('waits as long as the server asks', async (t) => {
  let asked = 0
  const slept: number[] = []
  await using stub = await startApiStub((_, response, url) => {
    asked += 1
    if (asked === 1) answer(response, 429, {}, { 'retry-after': '2' })
    else if (url.searchParams.has('watch')) response.writeHead(200).flushHeaders()
    else answer(response, 200, list(10))
  })
  const stop = new AbortController()
  const watch = createInformer<Thing>({
    client: stub.client,
    path: '/api/v1/things',
    parse: () => undefined,
    onChange: () => undefined,
    clock: {
      ...systemClock,
      async sleep(ms) {
        slept.push(ms)
      },
    },
    random: () => 0,
    logger: createLogLines().logger,
  })
  const ended = watch.run(stop.signal)
  await until('it is synced', () => watch.synced)
  stop.abort()
  await ended
  t.strictSame(slept, [2_000])
})

t.test('drops what is not to be kept', async (t) => {
  await using it = await run({
    lists: [list(10, thing('a', 1), thing('b', 2, { hidden: true }))],
    watches: [(response) => response.write(line('MODIFIED', thing('a', 11, { hidden: true })))],
  })
  await until('all is seen', () => it.changes.length === 3)
  t.same(it.changes, ['a: - -> 1', 'synced', 'a: 1 -> -'])
})

t.test('an error of the listener is not taken for one of the stream', async (t) => {
  const fail = () => {
    throw new TypeError('a mistake')
  }
  await using it = await run(
    { lists: [list(10)], watches: [(r) => r.write(line('ADDED', thing('a', 1)))] },
    fail,
  )
  await t.rejects(it.ended, { message: 'a mistake' })
})

t.test('ends when the signal aborts, whatever it waits for', async (t) => {
  for (const script of [
    { lists: [500], watches: [silent] },
    { lists: [list(10)], watches: [silent] },
  ]) {
    const it = await run(script)
    await until('it has begun', () => it.stub.requests.length > 0)
    await t.resolves(async () => it[Symbol.asyncDispose]())
  }
})

async function* pieces(...texts: (string | Uint8Array)[]) {
  for (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text
}

async function all(lines: AsyncIterable<string>): Promise<string[]> {
  const found: string[] = []
  for await (const line of lines) found.push(line)
  return found
}

const euro = Buffer.from('€')

const cases = [
  { name: 'nothing', given: [], expected: [] },
  { name: 'one line', given: ['a\n'], expected: ['a'] },
  { name: 'several lines in one piece', given: ['a\nb\n\nc\n'], expected: ['a', 'b', '', 'c'] },
  { name: 'one line in several pieces', given: ['a', 'b', 'c\nd', '\n'], expected: ['abc', 'd'] },
  { name: 'a character cut in two', given: [euro.subarray(0, 1), euro.subarray(1), '\n'], expected: ['€'] },
  { name: 'a rest without newline', given: ['a\nb'], expected: ['a'] },
  { name: 'a line of just the limit', given: ['12345678\n'], expected: ['12345678'] },
]

for (const { name, given, expected } of cases) {
  t.test(name, async (t) => {
    t.same(await all(readLines(pieces(...given), 8)), expected)
  })
}

for (const given of [['123456789\n'], ['1234', '56789'], ['a\n', '1234', '56789\n']]) {
  t.test(`too long: ${JSON.stringify(given)}`, async (t) => {
    await t.rejects(all(readLines(pieces(...given), 8)), {
      name: 'RangeError',
      message: 'a line is longer than 8 bytes',
    })
  })
}
