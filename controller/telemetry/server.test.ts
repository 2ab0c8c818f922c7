import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readAll } from 'node:stream/consumers'
import { connect as connectTLS } from 'node:tls'
import { pino } from 'pino'
import t from 'tap'
import { Agent, request } from 'undici'
import { type CertificateFiles, createCertificateAuthority } from '../../test/servers/pki.ts'
import { freePort } from '../../test/servers/ports.ts'
import type { AccessRequest } from '../kubernetes/delegated-access.ts'
import { createTelemetryServer, openPlainPort, type TelemetryServerOptions } from './server.ts'
import { createSelfSigned } from './serving-certificate.ts'

const logger = pino({ level: 'silent' })

function create(options: Partial<TelemetryServerOptions> = {}) {
  return createTelemetryServer({
    host: '127.0.0.1',
    port: 0,
    metrics: { contentType: 'text/plain; version=0.0.4; charset=utf-8', text: async () => 'a 1\n' },
    healthy: () => ({ ok: true, text: 'ok' }),
    ready: () => ({
      ok: false,
      text: 'vCenter vc1: InvalidLogin: the password is wrong\nNodes are not listed yet',
    }),
    logger,
    ...options,
  })
}

/** Sends these bytes; resolves with all that comes back until the other side ends. */
async function raw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  return readAll(socket)
}

await t.test('what is answered', async (t) => {
  let broken = false
  const server = create({
    healthy: () => {
      if (broken) throw new Error('a defect')
      return { ok: true, text: 'ok' }
    },
  })
  const { port } = await server.listen()
  t.teardown(server.close)
  const cases: readonly [string, string, number, string][] = [
    ['GET', '/metrics', 200, 'a 1\n'],
    ['GET', '/metrics?x=1', 200, 'a 1\n'],
    ['GET', '/healthz', 200, 'ok\n'],
    ['GET', '/readyz', 503, 'vCenter vc1: InvalidLogin: the password is wrong\nNodes are not listed yet\n'],
    ['HEAD', '/readyz', 503, ''],
    ['HEAD', '/metrics', 200, ''],
    ['GET', '/', 404, 'there is /metrics, /healthz and /readyz\n'],
    ['GET', '/metrics/', 404, 'there is /metrics, /healthz and /readyz\n'],
    ['POST', '/metrics', 405, 'only GET and HEAD are answered here\n'],
    ['DELETE', '/healthz', 405, 'only GET and HEAD are answered here\n'],
  ]
  for (const [method, path, status, body] of cases) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    t.same([response.status, await response.text()], [status, body], `${method} ${path}`)
  }
  const response = await fetch(`http://127.0.0.1:${port}/metrics`)
  t.match(response.headers.get('content-type'), 'version=0.0.4')
  await response.body?.cancel()

  broken = true
  const failed = await fetch(`http://127.0.0.1:${port}/healthz`)
  t.same(
    [failed.status, await failed.text()],
    [500, 'failed, the log says why\n'],
    'a defect is no crash and no secret',
  )
})

await t.test('over HTTPS, those alone who may', async (t) => {
  const pair = await createSelfSigned(Date.now())
  const asked: AccessRequest[] = []
  const server = create({
    secure: {
      tls: pair,
      async judge(asking) {
        asked.push(asking)
        return asking.authorization === 'Bearer x' ? undefined : { status: 403, line: 'not you' }
      },
    },
  })
  const { port } = await server.listen()
  t.teardown(server.close)
  const get = async (ca: string, headers: Record<string, string> = {}, path = '/metrics') => {
    const agent = new Agent({ connect: { ca } })
    const { statusCode, body } = await request(`https://127.0.0.1:${port}${path}`, {
      headers,
      dispatcher: agent,
    })
    const text = await body.text()
    await agent.close()
    return [statusCode, text]
  }
  t.same(await get(pair.cert), [403, 'not you\n'])
  const nobody = { authorization: undefined, certificate: undefined }
  t.same(asked, [{ method: 'GET', path: '/metrics', ...nobody }])
  t.same(await get(pair.cert, { authorization: 'Bearer x' }), [200, 'a 1\n'])
  asked.length = 0
  t.same((await get(pair.cert, {}, '/elsewhere'))[0], 404)
  t.same(asked, [], 'nobody is asked about what is not there')
  const next = await createSelfSigned(Date.now())
  server.setTLS(next)
  await t.rejects(get(pair.cert))
  t.same((await get(next.cert))[0], 403)
  await t.rejects(create({ port, secure: { tls: pair, judge: async () => undefined } }).listen(), {
    message: /^--secure-port 127\.0\.0\.1:\d+: another program has this port/,
  })
})

await t.test('a long token is read, but not all of what anybody may send', async (t) => {
  const pair = await createSelfSigned(Date.now())
  const server = create({ secure: { tls: pair, judge: async () => undefined } })
  const { port } = await server.listen()
  t.teardown(server.close)
  const agent = new Agent({ connect: { ca: pair.cert } })
  t.teardown(() => agent.close())
  const statusWith = async (length: number) => {
    const headers = { authorization: `Bearer ${'x'.repeat(length)}` }
    // Whoever is not read to the end may miss the answer.
    const answer = await request(`https://127.0.0.1:${port}/metrics`, { headers, dispatcher: agent }).catch(
      () => undefined,
    )
    await answer?.body.dump()
    return answer?.statusCode ?? 431
  }
  t.equal(await statusWith(100_000), 200)
  t.equal(await statusWith(200_000), 431)
})

await t.test('whom the client certificate of a connection names, and whether that is so', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-client-ca-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const authority = (name: string) => {
    mkdirSync(join(folder, name))
    return createCertificateAuthority(join(folder, name))
  }
  const [ours, theirs] = [await authority('ours'), await authority('theirs')]
  const pem = ({ certificateFile, keyFile }: CertificateFiles) => ({
    cert: readFileSync(certificateFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
  })
  const serving = pem(await ours.serving('server'))
  const ca = readFileSync(ours.caFile, 'utf8')
  const asked: AccessRequest[] = []
  const open = async (clientCAs?: readonly string[]) => {
    const judge = async (asking: AccessRequest) => {
      asked.push(asking)
      return undefined
    }
    const server = create({ secure: { tls: { ...serving, clientCAs }, judge } })
    t.teardown(server.close)
    return { server, port: (await server.listen()).port }
  }
  const { server, port } = await open([ca])
  const show = async (client: object, at = port) => {
    // Remembers sessions, as browsers do.
    const agent = new Agent({ connect: { ca, ...client } })
    for (const _ of [1, 2]) {
      const { body } = await request(`https://127.0.0.1:${at}/metrics`, { dispatcher: agent })
      await body.dump()
    }
    await agent.close()
    const [one, two] = asked.splice(0).map(({ certificate }) => certificate)
    t.same(one, two)
    return one
  }
  const alice = pem(await ours.client({ user: 'alice', groups: ['g', 'h'] }))
  const told = { verified: true, commonName: 'alice', organizations: ['g', 'h'] }
  t.same(await show({}), undefined)
  t.same(await show(alice), told)
  t.match(await show(pem(await theirs.client({ user: 'alice' }))), { verified: false })
  t.match(await show(pem(await ours.serving('alice'))), { verified: false }, 'a certificate for servers')
  t.match(
    await show(pem(await ours.client({ user: 'alice' }, -30_000))),
    { verified: false },
    'one that is over',
  )
  for (const clientCAs of [[], ['no PEM'], [readFileSync(theirs.caFile, 'utf8')]]) {
    server.setTLS({ ...serving, clientCAs })
    t.same(await show(alice), { ...told, verified: false }, 'nor is it once the CA is another')
  }
  server.setTLS({ ...serving, clientCAs: [readFileSync(theirs.caFile, 'utf8'), ca] })
  t.same(await show(alice), told)

  const resume = async (client: object) => {
    const socket = connectTLS({ port, host: '127.0.0.1', ca, ...client })
    let session: Buffer | undefined
    socket.on('session', (given) => {
      session = given
    })
    socket.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n')
    t.match(await readAll(socket), /^HTTP\/1\.1 200 /)
    return { session, certificate: asked.pop()?.certificate }
  }
  const { session, certificate } = await resume(alice)
  t.same(certificate, told)
  t.same(
    (await resume({ session })).certificate,
    undefined,
    'a session that is resumed brings no certificate back',
  )

  t.same(await show(alice, (await open()).port), undefined, 'nobody is asked for one where none is wanted')
})

await t.test('closing waits for no handshake', async (t) => {
  const pair = await createSelfSigned(Date.now())
  /** With a client that says nothing. */
  const open = async () => {
    const server = create({ secure: { tls: pair, judge: async () => undefined } })
    const { port } = await server.listen()
    const silent = connect(port, '127.0.0.1').on('error', () => undefined)
    const ended = once(silent, 'close')
    await once(silent, 'connect')
    // Answered only once the server has the connection before it, too.
    const agent = new Agent({ connect: { ca: pair.cert } })
    await (await request(`https://127.0.0.1:${port}/healthz`, { dispatcher: agent })).body.dump()
    await agent.close()
    return { server, ended }
  }
  const [other, one] = [await open(), await open()]
  t.teardown(other.server.close)
  const first = await Promise.race([
    one.server.close().then(() => 'closed'),
    other.ended.then(() => 'the time for a handshake is over'),
  ])
  t.equal(first, 'closed')
})

await t.test('what is not: garbage, too much, too slow', async (t) => {
  const server = create()
  const { port } = await server.listen()
  t.teardown(server.close)
  t.match(await raw(port, 'garbage\r\n\r\n'), /^HTTP\/1.1 400 /)
  t.match(await raw(port, `GET /${'x'.repeat(20_000)} HTTP/1.1\r\n\r\n`), /^HTTP\/1.1 431 /)
  t.match(
    await raw(
      port,
      `POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n${'x'.repeat(1000)}`,
    ),
    /^HTTP\/1.1 405 [\s\S]*connection: close/i,
  )
  t.match(
    await raw(port, 'GET /metrics HTTP/1.1\r\nX-Slow: '),
    /^HTTP\/1.1 408 /,
    'a header that does not end',
  )
})

await t.test('a crowd keeps nobody out', async (t) => {
  const server = create()
  const { port } = await server.listen()
  t.teardown(server.close)
  const silent = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  t.teardown(() => {
    for (const socket of silent) socket.destroy()
  })
  await Promise.all(silent.map((socket) => once(socket, 'connect')))
  for (let i = 0; i < 70; i++) {
    const bytes = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'
    t.match(
      await raw(port, bytes),
      /^HTTP\/1.1 200 [\s\S]*connection: close/i,
      `probe ${i} is answered, and its connection ends`,
    )
  }
})

await t.test('the port', async (t) => {
  const server = create()
  const { port } = await server.listen()
  await t.rejects(create({ port }).listen(), {
    message: `--listen 127.0.0.1:${port}: another program has this port; choose another, or end that program`,
  })
  await t.rejects(create({ host: '192.0.2.1' }).listen(), {
    message: /^--listen 192.0.2.1:0: this machine does not have/,
  })
  const half = connect(port, '127.0.0.1')
  // Whether by an end or a reset: bytes that nobody read make it the latter.
  half.on('error', () => undefined)
  const ended = new Promise((resolve) => half.once('close', resolve))
  await new Promise((resolve) => half.write('GET /metrics HTTP/1.1\r\nHost: ', resolve))
  let answered = ''
  half.on('data', (bytes) => {
    answered += String(bytes)
  })
  await server.close()
  await ended
  t.equal(answered, '', 'closing waits for no half request: that would be told that it is late')
  await server.close()
  await t.rejects(fetch(`http://127.0.0.1:${port}/healthz`))

  const everywhere = create({ host: '' })
  const bound = await everywhere.listen()
  const response = await fetch(`http://127.0.0.1:${bound.port}/healthz`)
  t.equal(await response.text(), 'ok\n', 'no address means IPv4, too')
  await everywhere.close()
})

/** Another address of this machine's than the one that a kubelet asks at. */
const OTHER = '127.0.0.2'

async function open(host: string, port: number) {
  const lines: string[] = []
  const server = await openPlainPort({
    host,
    port,
    metrics: { contentType: 'text/plain', text: async () => '' },
    healthy: () => ({ ok: true, text: 'ok' }),
    ready: () => ({ ok: true, text: 'leading' }),
    logger: pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) }),
  })
  return { server, lines }
}

const ask = async (host: string, port: number) => (await fetch(`http://${host}:${port}/healthz`)).text()

t.test('on one address it answers on loopback too, where a Pod without an address is probed', async (t) => {
  const port = await freePort()
  const { server, lines } = await open(OTHER, port)
  t.equal(await ask(OTHER, port), 'ok\n')
  t.equal(await ask('127.0.0.1', port), 'ok\n')
  t.strictSame(lines, [])
  await server.close()
  await t.rejects(ask(OTHER, port))
  await t.rejects(ask('127.0.0.1', port))
})

t.test('where another program has that, it says so and goes on', async (t) => {
  const port = await freePort()
  const holder = createServer().listen(port, '127.0.0.1')
  await once(holder, 'listening')
  t.teardown(() => holder.close())
  const { server, lines } = await open(OTHER, port)
  t.equal(await ask(OTHER, port), 'ok\n')
  t.match(lines, [/another program has this port.*probes fail until the Node has an address/])
  await server.close()
})

t.test('an address that has loopback is opened once', async (t) => {
  for (const host of ['', '0.0.0.0', 'localhost', '127.0.0.1']) {
    const { server, lines } = await open(host, await freePort())
    t.strictSame(lines, [], host)
    await server.close()
  }
})
