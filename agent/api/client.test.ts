import { mkdtemp, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { resolveToBothFamilies } from '../../test/fixtures/dual-stack.ts'
import { openSlowLink } from '../../test/fixtures/slow-link.ts'
import { createCertificateAuthority } from '../../test/servers/pki.ts'
import { explainFailure } from '../failure.ts'
import { withApiClient } from './client.ts'
import type { Credential } from './credential.ts'

const dir = await mkdtemp(join(tmpdir(), 'rollcall-client-'))
t.teardown(() => rm(dir, { recursive: true }))
const ca = await createCertificateAuthority(dir)
const other = await mkdtemp(join(tmpdir(), 'rollcall-client-'))
t.teardown(() => rm(other, { recursive: true }))
const stranger = await createCertificateAuthority(other)

type Handler = (request: IncomingMessage, response: ServerResponse) => void
const files = await ca.serving('api', ['api.example'])
const server = createServer({
  cert: await readFile(files.certificateFile),
  key: await readFile(files.keyFile),
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
t.teardown(() => {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
})
const { port } = server.address() as AddressInfo

const credential: Credential = {
  server: new URL(`https://127.0.0.1:${port}/prefix/`),
  ca: await readFile(ca.caFile, 'utf8'),
  serverName: undefined,
  clientCertificate: undefined,
  token: 'secret',
}
const options = { userAgent: 'test', signal: new AbortController().signal, timeout: 60_000 }

async function ask(
  handler: Handler,
  from: Partial<Credential> = {},
  { timeout } = options,
): Promise<unknown> {
  server.removeAllListeners('request')
  server.on('request', handler)
  return withApiClient({ ...credential, ...from }, { ...options, timeout }, (client) =>
    client.request({ method: 'POST', path: '/apis/x?a=b', body: { k: 'v' } }),
  )
}

t.test('a request as it arrives', async (t) => {
  const handler: Handler = (request, response) => {
    const { authorization, accept, 'content-type': type, 'user-agent': agent } = request.headers
    request.setEncoding('utf8').on('data', (body: string) => {
      response.end(JSON.stringify({ url: request.url, authorization, accept, type, agent, body }))
    })
  }
  t.same(await ask(handler), {
    url: '/prefix/apis/x?a=b',
    authorization: 'Bearer secret',
    accept: 'application/json',
    type: 'application/json',
    agent: 'test',
    body: '{"k":"v"}',
  })
})

t.test('requests share one connection, which is closed afterwards', async (t) => {
  const ports = new Set<number | undefined>()
  let closed: Promise<unknown> | undefined
  server.removeAllListeners('request')
  server.on('request', (request, response) => {
    ports.add(request.socket.remotePort)
    closed ??= new Promise((resolve) => request.socket.once('close', resolve))
    response.end('{}')
  })
  await withApiClient(credential, options, async (client) => {
    await client.request({ method: 'GET', path: '/a' })
    await client.request({ method: 'GET', path: '/b' })
  })
  t.equal(ports.size, 1)
  await closed
})

t.test('a name for the certificate', async (t) => {
  t.same(await ask((_, response) => response.end('{}'), { serverName: 'api.example' }), {})
  await t.rejects(
    ask((_, response) => response.end('{}'), { serverName: 'other.example' }),
    {
      name: 'ConnectionError',
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    },
  )
})

t.test('a name with two addresses, of which only the slow one can be reached', async (t) => {
  const link = await openSlowLink(port)
  t.teardown(() => link.close())
  t.teardown(resolveToBothFamilies())
  await link.fill()
  const there = new URL(`https://api.example:${link.port}`)
  t.same(await ask((_, response) => response.end('{}'), { server: there }), {})
})

t.test('an intermediate CA, and the server certificate itself, are trusted', async (t) => {
  const below = await ca.intermediate(t.testdir())
  const its = await below.serving('below', ['api.example'])
  const given = server as unknown as { setSecureContext(options: object): void }
  const show = async ({ certificateFile, keyFile }: typeof its) =>
    given.setSecureContext({ cert: await readFile(certificateFile), key: await readFile(keyFile) })
  await show(its)
  t.teardown(() => show(files))
  const answer = (from: Partial<Credential>) => ask((_, response) => response.end('{}'), from)
  t.same(await answer({ ca: await readFile(below.caFile, 'utf8') }), {})
  t.same(await answer({ ca: await readFile(its.certificateFile, 'utf8') }), {})
  await t.rejects(answer({ ca: await readFile(stranger.caFile, 'utf8') }), { name: 'ConnectionError' })
})

t.test('refusals', async (t) => {
  const refuse = (status: number, body: string, headers = {}) =>
    ask((_, response) => response.writeHead(status, headers).end(body))
  const busy = '{"kind":"Status","reason":"TooManyRequests","message":"slow down"}'
  await t.rejects(refuse(429, busy, { 'retry-after': '7' }), {
    name: 'ApiError',
    status: 429,
    reason: 'TooManyRequests',
    message: 'slow down',
    retryAfter: 7_000,
  })
  await t.rejects(refuse(502, '<html>'), {
    status: 502,
    reason: '',
    message: 'HTTP status 502',
    retryAfter: undefined,
  })
  const long = { kind: 'Status', reason: 'R'.repeat(900_000), message: 'm'.repeat(100_000) }
  await t.rejects(refuse(403, JSON.stringify(long)), {
    reason: /^R{64}$/,
    message: /^m{1000}$/,
  })
  await t.rejects(refuse(302, '', { location: '/' }), { name: 'ApiError', status: 302 })
})

t.test('no answer, or none of an API server', async (t) => {
  for (const [name, handler, from, code, next] of [
    ['silence', () => undefined, {}, 'TimedOut', 'waiting for the API server'],
    [
      'silence in the middle',
      (_, response) => response.write('{'),
      {},
      'TimedOut',
      'waiting for the API server',
    ],
    ['a reset', (request) => request.socket.destroy(), {}, 'ECONNRESET', 'waiting for the API server'],
    [
      'a truncated answer',
      (request, response) => {
        response.writeHead(200, { 'content-length': 100 })
        response.write('{', () => request.socket.destroy())
      },
      {},
      'ECONNRESET',
      'waiting for the API server',
    ],
    ['HTML', (_, response) => response.end('<html>'), {}, 'NotJSON', /server address/],
    ['two megabytes', (_, response) => response.end(Buffer.alloc(1 << 21)), {}, 'TooLong', /API server/],
    ['nobody', () => undefined, { server: new URL('https://127.0.0.1:1') }, 'ECONNREFUSED', /API server/],
    [
      'another CA',
      () => undefined,
      { ca: await readFile(stranger.caFile, 'utf8') },
      /SIGNATURE|UNABLE_TO/,
      /check certificate authority/,
    ],
    ['a CA that is not PEM', () => undefined, { ca: 'nonsense' }, /./, /./],
    [
      'a certificate that is not PEM',
      () => undefined,
      { clientCertificate: { cert: 'x', key: 'x' } },
      /PEM|SSL/,
      /check/,
    ],
  ] as [string, Handler, Partial<Credential>, string | RegExp, string | RegExp][]) {
    const { timeout } = code === 'TimedOut' ? { timeout: 500 } : options
    const error: unknown = await ask(handler, from, { ...options, timeout }).catch((cause: unknown) => cause)
    t.match(error, { name: 'ConnectionError', code }, name)
    const failure = explainFailure(error, 'publish')
    t.match(failure, { next })
    t.notMatch(failure?.message, /secret/)
  }
})

t.test('the end of the agent ends a request', async (t) => {
  const ending = new AbortController()
  server.removeAllListeners('request')
  server.on('request', () => ending.abort())
  const asked = withApiClient(credential, { ...options, signal: ending.signal }, (client) =>
    client.request({ method: 'GET', path: '/' }),
  )
  await t.rejects(asked, { name: 'ConnectionError', code: 'ABORT_ERR' })
})
