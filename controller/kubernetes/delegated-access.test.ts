import { pino } from 'pino'
import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import type { KubeClient, KubeRequest } from './client.ts'
import { type ClientCertificate, createDelegatedAccess } from './delegated-access.ts'

interface Asked {
  readonly spec: {
    readonly token?: string
    readonly user?: string
    readonly nonResourceAttributes?: { readonly path: string; readonly verb: string }
  }
}

const USERS: Readonly<Record<string, object>> = {
  alice: { username: 'alice', uid: 'u', groups: ['g'], extra: { scopes: ['a'] } },
  root: { username: 'root', groups: ['system:masters'] },
}

/** An API server that knows these users by their names as tokens, and lets alice get /metrics. */
function access() {
  const clock = createHandClock()
  const asked: Asked['spec'][] = []
  let answers = true
  let ready = Promise.resolve()
  const client: KubeClient = {
    async request({ body }: KubeRequest) {
      // Only this module's own requests come here.
      const { spec } = body as Asked
      asked.push(spec)
      await ready
      if (!answers) throw new Error('no answer')
      const { token, user, nonResourceAttributes: what } = spec
      if (token !== undefined) {
        const known = USERS[token]
        return { status: known === undefined ? { error: 'no' } : { authenticated: true, user: known } }
      }
      return { status: { allowed: user === 'alice' && what?.verb === 'get' && what.path === '/metrics' } }
    },
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  }
  const { judge } = createDelegatedAccess({
    authentication: client,
    authorization: client,
    alwaysAllow: ['/healthz', '/open/*'],
    ttl: { token: 10_000, allowed: 10_000, denied: 5_000 },
    clock,
    logger: pino({ level: 'silent' }),
  })
  const ask = (path: string, token?: string, method = 'GET') =>
    judge({ method, path, authorization: token && `Bearer ${token}`, certificate: undefined })
  return {
    clock,
    asked,
    ask,
    judge,
    /** Holds answers back until what it returns is called. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      ready = promise
      return resolve
    },
    fail: (is: boolean) => {
      answers = !is
    },
  }
}

t.test('who may see what', async (t) => {
  const { ask, judge, asked } = access()
  t.equal(await ask('/healthz'), undefined)
  t.equal(await ask('/open/a'), undefined)
  t.equal(asked.length, 0, 'nobody is asked about those')
  t.match(await ask('/healthz/x'), { status: 403 })
  t.match(await ask('/metrics'), { status: 403, line: /nonResourceURLs \["\/metrics"\] and verbs \["get"\]/ })
  t.match(asked.at(-1), { user: 'system:anonymous', groups: ['system:unauthenticated'] })
  t.equal(await ask('/metrics', 'alice'), undefined)
  t.match(asked.at(-1), { user: 'alice', uid: 'u', groups: ['g'], extra: { scopes: ['a'] } })
  t.match(await ask('/metrics', 'alice', 'HEAD'), { status: 403 })
  t.match(await ask('/metrics', 'mallory'), { status: 401 })
  t.equal(await ask('/anything', 'root'), undefined)
  const basic = { method: 'GET', path: '/metrics', authorization: 'Basic eA==', certificate: undefined }
  t.match(await judge(basic), { status: 401 })
})

t.test('a certificate says who its client is', async (t) => {
  const { judge, asked } = access()
  const show = (certificate: Partial<ClientCertificate>, token?: string) =>
    judge({
      method: 'GET',
      path: '/metrics',
      authorization: token && `Bearer ${token}`,
      certificate: { verified: true, commonName: 'alice', organizations: ['g', 'h'], ...certificate },
    })
  t.equal(await show({}), undefined)
  t.match(asked, [{ user: 'alice', groups: ['g', 'h', 'system:authenticated'] }])
  t.match(
    await show({ commonName: 'mallory' }, 'alice'),
    { status: 403 },
    'the token does not count beside it',
  )
  t.equal(await show({ commonName: 'x', organizations: ['system:masters'] }), undefined)
  asked.length = 0
  t.match(await show({ verified: false }), { status: 401 })
  t.match(await show({ verified: false, organizations: ['system:masters'] }), { status: 401 })
  t.same(asked, [], 'nobody is asked about a name that nobody vouches for')
  t.equal(await show({ verified: false, commonName: 'mallory' }, 'alice'), undefined, 'but about a token')
  t.match(await show({ commonName: '' }), { status: 403 })
  t.match(asked.at(-1), { user: 'system:anonymous' }, 'who has no name is nobody')
})

t.test('answers count for a while', async (t) => {
  const { clock, asked, ask } = access()
  await ask('/metrics', 'alice')
  await ask('/metrics', 'alice')
  await ask('/metrics', 'mallory')
  await ask('/metrics', 'mallory')
  t.equal(asked.length, 3)
  await clock.turn(9_999)
  await ask('/metrics', 'alice')
  t.equal(asked.length, 3)
  await clock.turn(1)
  await ask('/metrics', 'alice')
  t.equal(asked.length, 5)
  await ask('/metrics')
  await clock.turn(5_000)
  await ask('/metrics')
  t.equal(asked.length, 7)
})

t.test('an API server that does not answer lets nobody in, and is spared for a second', async (t) => {
  const { ask, fail, clock, asked } = access()
  fail(true)
  t.match(await ask('/metrics', 'alice'), { status: 503 })
  t.equal(await ask('/healthz'), undefined)
  fail(false)
  t.match(await ask('/metrics', 'alice'), { status: 503 })
  t.equal(asked.length, 1)
  await clock.turn(1_000)
  t.equal(await ask('/metrics', 'alice'), undefined)
})

t.test('no more is remembered than so much', async (t) => {
  const { ask, asked } = access()
  await ask('/metrics', 'alice')
  for (let i = 0; i < 256; i++) await ask('/metrics', `token-${i}`)
  const before = asked.length
  await ask('/metrics', 'alice')
  t.equal(asked.length, before + 1, 'the token, not what its user may')
})

t.test('who asks at once with one token costs one question, and others a few', async (t) => {
  const { ask, asked, hold } = access()
  t.equal(await ask('/metrics', 'alice'), undefined)
  asked.length = 0
  const release = hold()
  const same = Array.from({ length: 20 }, () => ask('/metrics', 'mallory'))
  const others = Array.from({ length: 20 }, (_, i) => ask('/metrics', `token-${i}`))
  t.equal(await ask('/metrics', 'alice'), undefined, 'what is known is answered all the same')
  t.match(await ask('/metrics', 'more'), { status: 503, line: /too many/ })
  t.equal(asked.length, 8)
  release()
  t.ok((await Promise.all(same)).every((denial) => denial?.status === 401))
  t.equal((await Promise.all(others)).filter((denial) => denial?.status === 401).length, 7)
  t.match(await ask('/metrics', 'more'), { status: 401 })
})
