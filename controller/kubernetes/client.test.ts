import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { createDeadline, createKubeClient } from './client.ts'
import { answer, startApiStub } from './testing/api-stub.ts'

const never = new AbortController().signal
const get = { method: 'GET', path: '/x', signal: never } as const

t.test('sends what it is given, and gives what it gets', async (t) => {
  await using stub = await startApiStub((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { authorization, accept, 'content-type': type, 'user-agent': agent } = request.headers
      answer(response, 200, { authorization, accept, type, agent, body: Buffer.concat(chunks).toString() })
    })
  })
  t.same(await stub.client.request({ ...get, query: { a: '1 &', b: '' } }), {
    authorization: 'Bearer secret-token',
    accept: 'application/json',
    agent: 'test',
    body: '',
  })
  t.match(
    await stub.client.request({
      ...get,
      method: 'PATCH',
      body: { a: null },
      contentType: 'application/merge-patch+json',
    }),
    { type: 'application/merge-patch+json', body: '{"a":null}' },
  )
  t.same(stub.requests, ['GET /x?a=1+%26&b=', 'PATCH /x'])
})

t.test('keeps its connections', async (t) => {
  await using stub = await startApiStub((_, response) => answer(response, 200, {}))
  for (let i = 0; i < 50; i++) await stub.client.request(get)
  t.ok(stub.connections <= 2, `${stub.connections} for 50 requests, one after the other`)
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 8 }, () => stub.client.request(get)))
  t.ok(stub.connections <= 16, `${stub.connections} for 160 more, eight at once`)
})

t.test('an answer that is no success is an ApiError', async (t) => {
  const status = { kind: 'Status', reason: 'TooManyRequests', message: 'please wait', code: 429 }
  await using stub = await startApiStub((_, response, url) => {
    if (url.pathname === '/html') response.writeHead(502).end(`<html>${'x'.repeat(1000)}`)
    else answer(response, 429, status, { 'retry-after': '7' })
  })
  const error = await failure(stub.client.request(get))
  t.ok(error instanceof ApiError)
  t.match(error, {
    message: 'GET /x was answered with 429 TooManyRequests: please wait',
    status: 429,
    reason: 'TooManyRequests',
    retryAfter: 7_000,
  })
  t.match(await failure(stub.client.request({ ...get, path: '/html' })), {
    message: 'GET /html was answered with 502: 1006 characters that are not a Status',
    status: 502,
    reason: '',
    retryAfter: undefined,
  })
  t.match(await failure(stub.client.stream(get, 1_000)), { status: 429 }, 'streams alike')
})

t.test('an answer that cannot be read', async (t) => {
  await using stub = await startApiStub((_, response, url) => {
    if (url.pathname === '/no-json') response.end('<html>')
    else if (url.pathname === '/cut')
      response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy())
    else response.socket?.destroy()
  })
  const ask = (path: string) => failure(stub.client.request({ ...get, path }))
  t.match(await ask('/no-json'), {
    message: /^GET \/no-json was answered with 6 characters that are not JSON$/,
  })
  t.match(await ask('/cut'), { message: /^GET \/cut failed: / })
  t.match(await ask('/reset'), { message: /^GET \/reset failed: / })
})

t.test('an answer without end', async (t) => {
  const block = Buffer.alloc(64 * 1024, ' ')
  let sent = 0
  await using stub = await startApiStub((_, response, url) => {
    sent = 0
    response.writeHead(url.pathname === '/ok' ? 200 : 500)
    response.on('error', () => undefined)
    const more = (): void => {
      while (!response.destroyed) {
        sent += block.length
        if (!response.write(block)) break
      }
    }
    response.on('drain', more)
    more()
  })
  const ask = (path: string) => failure(stub.client.request({ ...get, path }))
  t.match(await ask('/ok'), { message: 'GET /ok was answered with more than 16777216 bytes' })
  t.ok(sent < 100 * 2 ** 20, `${sent} bytes`)
  t.match(await ask('/error'), {
    name: 'ApiError',
    status: 500,
    message: /^GET \/error was answered with 500: too many characters/,
  })
  t.ok(sent < 10 * 2 ** 20, `${sent} bytes`)
  t.match(await failure(stub.client.stream({ ...get, path: '/error' }, 1_000)), { status: 500 })
})

t.test('a deadline on every request', async (t) => {
  const clock = createHandClock()
  await using stub = await startApiStub((_, response, url) => {
    if (url.pathname === '/headers') response.writeHead(200).flushHeaders()
    if (url.pathname === '/pieces') response.writeHead(200).write('x')
  })
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: stub.kubeconfig },
    clock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())

  for (const path of ['/nothing', '/headers']) {
    const failed = failure(client.request({ ...get, path, timeout: 5_000 }))
    await until('it was asked', () => stub.requests.includes(`GET ${path}`))
    await clock.turn(5_000)
    t.match(await failed, { message: `GET ${path} failed: nothing came for 5000 ms` })
  }

  const stream = await client.stream({ ...get, path: '/pieces', timeout: 5_000 }, 60_000)
  const pieces = stream[Symbol.asyncIterator]()
  t.same(await pieces.next(), { done: false, value: Buffer.from('x') })
  await clock.turn(59_000)
  const failed = failure(pieces.next())
  await clock.turn(1_000)
  t.match(await failed, { message: 'GET /pieces failed: nothing came for 60000 ms' })
  t.equal(clock.sleepers, 0, 'no timer is left')
})

t.test('a path on which no connection comes about', async (t) => {
  // Takes connections, and says nothing.
  const hole = createServer()
  const sockets = new Set<Socket>()
  hole.on('connection', (socket) => sockets.add(socket.on('error', () => undefined)))
  await once(hole.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => hole.close(resolve))
  })
  const address = hole.address()
  if (address === null || typeof address === 'string') throw new Error('it listens on no port')
  const path = `${t.testdir()}/kubeconfig`
  await writeFile(
    path,
    JSON.stringify({
      clusters: [{ name: 'x', cluster: { server: `https://127.0.0.1:${address.port}` } }],
      users: [{ name: 'x', user: { token: 'x' } }],
      contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
      'current-context': 'x',
    }),
  )
  const clock = createHandClock()
  const client = createKubeClient({ credentials: { kind: 'kubeconfig', path }, clock, userAgent: 'test' })
  t.teardown(() => client.close())

  const late = failure(client.request({ ...get, path: '/late', timeout: 5_000 }))
  await until('it connects', () => sockets.size === 1)
  await clock.turn(5_000)
  t.match(await late, { message: 'GET /late failed: nothing came for 5000 ms' })

  const stop = new AbortController()
  const request = failure(client.request({ ...get, signal: stop.signal }))
  const stream = failure(client.stream({ ...get, signal: stop.signal }, 60_000))
  await until('they connect', () => sockets.size === 3)
  stop.abort(new Error('shutting down'))
  t.match(await request, { message: 'shutting down' })
  t.match(await stream, { message: 'shutting down' })
  t.match(await failure(client.request({ ...get, signal: stop.signal })), { message: 'shutting down' })
  t.equal(clock.sleepers, 0)
})

t.test('ends with its signal', async (t) => {
  await using stub = await startApiStub((_, response) => response.writeHead(200).flushHeaders())
  const stop = new AbortController()
  const request = failure(stub.client.request({ ...get, signal: stop.signal }))
  const stream = await stub.client.stream({ ...get, signal: stop.signal }, 60_000)
  const piece = failure(stream[Symbol.asyncIterator]().next())
  stop.abort(new Error('shutting down'))
  t.match(await request, { message: 'shutting down' })
  t.match(await piece, { message: 'shutting down' })
})

t.test('credentials that cannot be used', async (t) => {
  const dir = t.testdir()
  const open = (path: string) =>
    createKubeClient({
      credentials: { kind: 'kubeconfig', path },
      clock: createHandClock(),
      userAgent: 'test',
    })
  t.throws(() => open(`${dir}/none`), { message: new RegExp(`^cannot read the kubeconfig ${dir}/none: `) })
  await writeFile(`${dir}/garbage`, '\t: {[')
  t.throws(() => open(`${dir}/garbage`), {
    message: new RegExp(`^the kubeconfig ${dir}/garbage is not YAML `),
  })
  for (const text of ['', '{}', 'just text', 'clusters: []', 'current-context: x']) {
    await writeFile(`${dir}/empty`, text)
    t.throws(
      () => open(`${dir}/empty`),
      { message: new RegExp(`kubeconfig ${dir}/empty`) },
      JSON.stringify(text),
    )
  }
})

async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    return new Error(`it succeeded with ${JSON.stringify(await promise)}`)
  } catch (error) {
    return error
  }
}

t.test('aborts when the time is over', async (t) => {
  const clock = createHandClock()
  const deadline = createDeadline(clock, 100, new AbortController().signal)
  await clock.turn(99)
  t.notOk(deadline.signal.aborted)
  await clock.turn(1)
  t.match(deadline.signal.reason, { message: 'nothing came for 100 ms' })
})

t.test('counts anew when renewed', async (t) => {
  const clock = createHandClock()
  const deadline = createDeadline(clock, 100, new AbortController().signal)
  await clock.turn(90)
  deadline.renew(1_000)
  await clock.turn(999)
  t.notOk(deadline.signal.aborted)
  await clock.turn(1)
  t.match(deadline.signal.reason, { message: 'nothing came for 1000 ms' })
})

t.test('aborts with the outer signal, for its reason', async (t) => {
  const clock = createHandClock()
  const outer = new AbortController()
  const deadline = createDeadline(clock, 100, outer.signal)
  outer.abort(new Error('shutting down'))
  t.match(deadline.signal.reason, { message: 'shutting down' })
  t.ok(createDeadline(clock, 100, outer.signal).signal.aborted, 'at once when the outer one already has')
})

t.test('keeps neither timer nor listener once released', async (t) => {
  const clock = createHandClock()
  const outer = new AbortController()
  const deadline = createDeadline(clock, 100, outer.signal)
  deadline.release()
  await clock.turn(1_000)
  outer.abort()
  t.notOk(deadline.signal.aborted)
  t.equal(clock.sleepers, 0)
})
