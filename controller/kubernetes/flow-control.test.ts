import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { KubeClient, KubeRequest } from './client.ts'
import { createLeaderOnlyClient, createRateLimiter } from './flow-control.ts'

function limited() {
  const clock = createHandClock()
  const sent: string[] = []
  const inner: KubeClient = {
    async request({ path }) {
      sent.push(path)
    },
    async stream({ path }) {
      sent.push(path)
      return (async function* () {})()
    },
    close: () => Promise.resolve(),
  }
  const limit = createRateLimiter({ qps: 10, burst: 2 }, clock)
  const client = limit(inner)
  const ask = (path: string, signal = new AbortController().signal) =>
    client.request({ method: 'GET', path, signal })
  return { clock, sent, inner, limit, client, ask }
}

t.test('a burst goes at once, what is more waits for its turn, in order', async (t) => {
  const { clock, sent, client, ask } = limited()
  const { signal } = new AbortController()
  const all = ['a', 'b', 'c'].map((path) => ask(path))
  all.push(client.stream({ method: 'GET', path: 'd', signal }, 1))
  await clock.turn(0)
  t.same(sent, ['a', 'b'])
  await clock.turn(100)
  t.same(sent, ['a', 'b', 'c'])
  await clock.turn(100)
  t.same(sent, ['a', 'b', 'c', 'd'])
  await Promise.all(all)
  await clock.turn(10_000)
  await Promise.all(['e', 'f'].map((path) => ask(path)))
  t.same(sent.slice(4), ['e', 'f'], 'the bucket never holds more than the burst')
  void ask('g')
  await clock.turn(0)
  t.equal(sent.length, 6)
})

t.test('whoever gives up waits no longer', async (t) => {
  const { clock, sent, ask } = limited()
  const leaving = new AbortController()
  await Promise.all([ask('a'), ask('b')])
  const given = ask('c', leaving.signal)
  await clock.turn(0)
  t.equal(clock.sleepers, 1)
  leaving.abort()
  await given
  t.same(sent, ['a', 'b', 'c'], 'the request itself knows what an aborted signal means')
})

t.test('whoever gives up leaves the turn to the next', async (t) => {
  const { clock, sent, ask } = limited()
  const leaving = new AbortController()
  await Promise.all([ask('a'), ask('b')])
  const given = Array.from({ length: 50 }, () => ask('left', leaving.signal))
  await clock.turn(0)
  leaving.abort()
  await Promise.all(given)
  const before = sent.length
  void ask('c')
  await clock.turn(100)
  t.same(sent.slice(before), ['c'])
})

t.test('a write whose turn comes after the term is not sent, and terms share the bucket', async (t) => {
  const { clock, sent, inner, limit, ask } = limited()
  let holds = true
  const leader = limit(createLeaderOnlyClient(inner, { holds: () => holds }))
  await Promise.all([ask('a'), ask('b')])
  const { signal } = new AbortController()
  const write = leader.request({ method: 'DELETE', path: '/x', signal })
  write.catch(() => undefined)
  await clock.turn(0)
  t.same(sent, ['a', 'b'], 'it waits')
  holds = false
  await clock.turn(100)
  await t.rejects(write, { message: /was not sent/ })
  t.same(sent, ['a', 'b'])
})

t.test('writes only while the Lease is held, reads always', async (t) => {
  const sent: string[] = []
  const inner: KubeClient = {
    request: async ({ method }) => sent.push(method),
    stream: async ({ method }) => {
      sent.push(`stream ${method}`)
      return (async function* () {})()
    },
    close: async () => undefined,
  }
  let holds = true
  const client = createLeaderOnlyClient(inner, { holds: () => holds })
  const { signal } = new AbortController()
  const methods: readonly KubeRequest['method'][] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
  for (const method of methods) await client.request({ method, path: '/x', signal })
  t.same(sent.splice(0), methods)
  holds = false
  for (const method of methods.slice(1)) {
    const message = `${method} /x was not sent: another replica may hold the Lease by now`
    await t.rejects(client.request({ method, path: '/x', signal }), { message })
  }
  await client.request({ method: 'GET', path: '/x', signal })
  await client.stream({ method: 'GET', path: '/x', signal }, 1)
  t.same(sent, ['GET', 'stream GET'])
})
