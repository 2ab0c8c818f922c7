import { join } from 'node:path'
import type { Test } from 'tap'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { type NameAnswer, startNameServer, type Zone } from '../../../test/fixtures/name-server.ts'
import { createNames } from './names.ts'

async function world(t: Test, { hosts = '', resolver = '' } = {}, zone: Zone = new Map()) {
  const folder = t.testdir({ hosts, resolver })
  const server = await startNameServer(zone)
  const ending = new AbortController()
  t.teardown(() => server.close())
  t.teardown(() => ending.abort())
  const sources = { hostsFile: join(folder, 'hosts'), resolverFile: join(folder, 'resolver') }
  const names = createNames({
    clock: systemClock,
    signal: ending.signal,
    sources: { ...sources, servers: [server.address] },
  })
  const addresses = async (name: string) => (await names.addressesOf(name)).map(({ address }) => address)
  return { zone, server, names, addresses }
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
