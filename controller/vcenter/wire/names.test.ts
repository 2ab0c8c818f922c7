import type { LookupAddress } from 'node:dns'
import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { type Clock, systemClock } from '../../../agent/shared/clock.ts'
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { type NameAnswer, startNameServer, type Zone } from '../../../test/fixtures/name-server.ts'
import { until } from '../../../test/fixtures/until.ts'
import { createNames, NameError } from './names.ts'

async function world(
  t: Test,
  {
    hosts = '',
    resolver = '',
    ...others
  }: {
    hosts?: string
    resolver?: string
    clock?: Clock
    getaddrinfo?: (name: string) => Promise<readonly LookupAddress[]>
  } = {},
  zone: Zone = new Map(),
) {
  const { clock = systemClock, getaddrinfo = async () => Promise.reject(coded('ENOTFOUND')) } = others
  const folder = t.testdir({ hosts, resolver })
  const server = await startNameServer(zone)
  const ending = new AbortController()
  t.teardown(() => server.close())
  t.teardown(() => ending.abort())
  const sources = { hostsFile: join(folder, 'hosts'), resolverFile: join(folder, 'resolver') }
  const names = createNames({
    clock,
    signal: ending.signal,
    sources: { ...sources, servers: [server.address], getaddrinfo },
  })
  const addresses = async (name: string) => (await names.addressesOf(name)).map(({ address }) => address)
  return { zone, server, names, addresses }
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code })
}

t.test('names whose lookup hangs keep no other name waiting, however many they are', async (t) => {
  const hanging = Array.from({ length: 8 }, (_, index) => `vc${index}.example`)
  const zone: Zone = new Map<string, NameAnswer>(hanging.map((name) => [name, 'silent']))
  const { addresses } = await world(t, {}, zone.set('vc.example', ['127.0.0.1']))
  const hung = hanging.map((name) => addresses(name))
  let first = ''
  await Promise.all([
    Promise.any(hung).catch(() => (first ||= 'hung')),
    addresses('vc.example').then((found) => {
      t.same(found, ['127.0.0.1'])
      first ||= 'answered'
    }),
  ])
  t.equal(first, 'answered')
  for (const one of hung)
    await t.rejects(one, { code: 'EAI_AGAIN', message: /vc\d\.example was not resolved/ })
})

t.test('both families, and one of them alone', async (t) => {
  const zone: Zone = new Map<string, NameAnswer>([
    ['both.example', ['::1', '127.0.0.1']],
    ['six.example', ['::2']],
    ['half.example', 'silent for IPv6'],
  ])
  const { addresses } = await world(t, {}, zone)
  t.same(await addresses('both.example'), ['127.0.0.1', '::1'], 'IPv4 first')
  t.same(await addresses('six.example'), ['::2'])
  t.same(await addresses('half.example'), ['127.0.0.1'], 'a name server that never answers for IPv6')
})

t.test('the file of hosts comes first', async (t) => {
  const hosts =
    '# 127.0.0.9 vc.example\n::1\tvc.example\n127.0.0.2  other VC.example # last\nnonsense vc.example'
  const { addresses, server } = await world(t, { hosts })
  t.same(await addresses('vc.example'), ['127.0.0.2', '::1'])
  t.same(server.asked, [])
})

t.test('a short name is completed by the search list, and a long one last', async (t) => {
  const resolver = 'domain ignored\nsearch a.example b.example\noptions timeout:1 ndots:2'
  const zone: Zone = new Map([['vc.b.example', ['127.0.0.3']]])
  const { addresses, server } = await world(t, { resolver }, zone)
  t.same(await addresses('vc'), ['127.0.0.3'])
  t.same([...new Set(server.asked.splice(0))], ['vc.a.example', 'vc.b.example'])
  zone.set('vc.site', ['127.0.0.4']).set('vc.site.example', ['127.0.0.5'])
  t.same(await addresses('vc.site'), ['127.0.0.4'])
  t.same([...new Set(server.asked.splice(0))], ['vc.site.a.example', 'vc.site.b.example', 'vc.site'])
  t.same(await addresses('vc.site.example'), ['127.0.0.5'])
  t.same([...new Set(server.asked.splice(0))], ['vc.site.example'])
  zone.set('vc', ['127.0.0.6'])
  t.same(await addresses('vc.'), ['127.0.0.6'])
})

t.test('where DNS no longer answers, the last addresses count until it does', async (t) => {
  const { addresses, zone } = await world(t, {}, new Map<string, NameAnswer>([['vc.invalid', ['127.0.0.1']]]))
  t.same(await addresses('vc.invalid'), ['127.0.0.1'])
  zone.set('vc.invalid', 'silent')
  t.same(await addresses('vc.invalid'), ['127.0.0.1'])
  zone.set('vc.invalid', ['127.0.0.2'])
  const renewed = async (): Promise<readonly string[]> => {
    const found = await addresses('vc.invalid')
    return found.includes('127.0.0.1') ? renewed() : found
  }
  t.same(await renewed(), ['127.0.0.2'])
})

t.test('a name server that cannot say is one that does not answer', async (t) => {
  for (const failure of ['malformed', 'fails', 'not implemented', 'refuses'] as const) {
    const zone: Zone = new Map<string, NameAnswer>([['vc.example', ['127.0.0.1']]])
    const { addresses } = await world(t, {}, zone)
    t.same(await addresses('vc.example'), ['127.0.0.1'])
    zone.set('vc.example', failure).set('other.example', failure)
    t.same(await addresses('vc.example'), ['127.0.0.1'], failure)
    await t.rejects(addresses('other.example'), { code: 'EAI_AGAIN' }, failure)
    zone.delete('vc.example')
    await t.rejects(addresses('vc.example'), { code: 'ENOTFOUND' })
  }
})

t.test('one that fails for a name of the search list may still know another', async (t) => {
  const zone: Zone = new Map<string, NameAnswer>([
    ['vc.site.a.example', 'fails'],
    ['vc.site', ['127.0.0.1']],
    ['gone.site.a.example', 'fails'],
  ])
  const { addresses } = await world(t, { resolver: 'search a.example\noptions ndots:5' }, zone)
  t.same(await addresses('vc.site'), ['127.0.0.1'])
  await t.rejects(addresses('gone.site'), { code: 'EAI_AGAIN' }, 'it may be that one')
})

t.test('a name that only another source of the system has, whatever name servers say of it', async (t) => {
  const getaddrinfo = async () => [{ address: '127.0.0.7', family: 4 }]
  for (const said of [undefined, 'fails', 'refuses'] as const) {
    const zone: Zone = new Map(said === undefined ? [] : [['vc.local', said]])
    const { addresses } = await world(t, { getaddrinfo }, zone)
    t.same(await addresses('vc.local'), ['127.0.0.7'], said ?? 'that there is none')
  }
})

t.test(
  'getaddrinfo, which holds a thread, is asked for one name at a time in all of the process',
  async (t) => {
    const under: { readonly name: string; readonly end: () => void }[] = []
    const getaddrinfo = (name: string) =>
      new Promise<LookupAddress[]>((resolve) => {
        under.push({ name, end: () => resolve([{ address: '127.0.0.7', family: 4 }]) })
      })
    const clock = createHandClock()
    const one = await world(t, { clock, getaddrinfo }, new Map([['vc1.example', 'fails']]))
    const other = await world(t, { clock, getaddrinfo }, new Map([['vc.example', ['127.0.0.1']]]))
    const hung = t.rejects(one.addresses('vc1.example'), { code: 'EAI_AGAIN' })
    await until('the first one is asked for', () => under.length === 1)
    const waiting = t.rejects(other.addresses('vc2.example'), { code: 'EAI_AGAIN' })
    t.same(await other.addresses('vc.example'), ['127.0.0.1'], 'what DNS has waits for nothing')
    await until('DNS lacks the second one', () => other.server.asked.length === 4)
    await clock.turn(8_000)
    await Promise.all([hung, waiting])
    const [first] = under
    t.equal(under.length, 1, 'nobody waits any more, and the thread is still held')

    const again = other.addresses('vc2.example')
    first?.end()
    await until('it has ended, and the next one is asked for', () => under.length === 2)
    under[1]?.end()
    t.same(await again, ['127.0.0.7'])
    t.same(
      under.map(({ name }) => name),
      ['vc1.example', 'vc2.example'],
    )
  },
)

/** Names that are found as the test says, by a clock that stands still. */
function found(t: Test, ...answers: readonly (() => Promise<readonly LookupAddress[]>)[]) {
  const clock = createHandClock()
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  let searches = 0
  const find = () => answers[searches++]?.() ?? Promise.reject(new Error('one search too many'))
  const names = createNames({ clock, signal: ending.signal, find })
  return { clock, searches: () => searches, ask: () => names.addressesOf('vc.example') }
}

const ONE = [{ address: '10.0.0.1', family: 4 }]
const NEVER_ANSWERED = () => new Promise<never>(() => undefined)

t.test('all who ask at one time wait for one search', async (t) => {
  const { searches, ask } = found(t, async () => ONE)
  t.same(await Promise.all([ask(), ask(), ask()]), [ONE, ONE, ONE])
  t.equal(searches(), 1)
})

t.test(
  'a name is waited for as long as a connection may take, and for a second once it was known',
  async (t) => {
    const first = found(t, NEVER_ANSWERED)
    const refused = t.rejects(first.ask(), { code: 'EAI_AGAIN' })
    await first.clock.turn(7_999)
    t.ok(first.clock.sleepers > 0, 'it is waited for')
    await first.clock.turn(1)
    await refused

    const { clock, ask } = found(t, async () => ONE, NEVER_ANSWERED)
    await ask()
    let answer: unknown
    const asked = ask().then((addresses) => {
      answer = addresses
    })
    await clock.turn(999)
    t.equal(answer, undefined)
    await clock.turn(1)
    t.same(answer, ONE)
    await asked
  },
)

t.test('a name that does not exist any more has no last address', async (t) => {
  const { ask } = found(
    t,
    async () => ONE,
    () => Promise.reject(new NameError('ENOTFOUND', 'vc.example')),
  )
  await ask()
  await t.rejects(ask(), { code: 'ENOTFOUND' })
})

t.test('the family that is not answered is waited for by half a second', async (t) => {
  const zone: Zone = new Map<string, NameAnswer>([['half.example', 'silent for IPv6']])
  const server = await startNameServer(zone)
  t.teardown(() => server.close())
  const clock = createHandClock()
  const sources = { hostsFile: '/nowhere', resolverFile: '/nowhere', servers: [server.address] }
  const ending = new AbortController()
  t.teardown(() => ending.abort())
  const searching = createNames({ clock, signal: ending.signal, sources }).addressesOf('half.example')
  await until('one family is answered, and the time for the other one runs', () => clock.sleepers === 3)
  await clock.turn(500)
  t.same(await searching, [{ address: '127.0.0.1', family: 4 }])
  t.equal(server.asked.length, 2, 'nobody was asked a second time')
})
