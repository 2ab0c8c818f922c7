import { readFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import type { Test } from 'tap'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { startNameServer, type Zone } from '../../../test/fixtures/name-server.ts'
import { openSlowLink } from '../../../test/fixtures/slow-link.ts'
import { createCertificateAuthority } from '../../../test/servers/pki.ts'
import { type ConnectionOptions, inflate, openConnection } from './connection.ts'
import { createNames } from './names.ts'
import { readXML } from './xml.ts'

t.test('the port that was configured is connected to, 443 too', async (t) => {
  // Nobody listens there; the refusal says which port was tried.
  const address = '127.91.17.203'
  for (const port of [443, 9]) {
    const connection = openConnection({
      server: address,
      port,
      trust: { kind: 'insecure' },
      userAgent: 'test',
      clock: systemClock,
    })
    const { signal } = new AbortController()
    const answer = connection.request(
      { method: 'GET', path: '/', headers: {}, deadline: 60_000, signal },
      async () => 'answered',
    )
    await t.rejects(answer, {
      name: 'NotSentError',
      reason: 'Unreachable',
      cause: { code: 'ECONNREFUSED', address, port },
    })
    await connection.close()
  }
})

/** A server on 127.0.0.1 whose certificate a CA below `root` has signed, and how many connections were made to it. */
async function serve(t: Test) {
  const [folder, below] = [t.testdir({ below: {} }), `${t.testdirName}/below`]
  const root = await createCertificateAuthority(folder)
  const intermediate = await root.intermediate(below)
  const files = await intermediate.serving('vc', ['vc.example'])
  const read = async (path: string) => await readFile(path, 'utf8')
  const [cert, key] = [await read(files.certificateFile), await read(files.keyFile)]
  let connections = 0
  // No header of the server says how long it keeps a connection: vCenter's proxy sends none.
  const server: Server = createServer({ cert, key, keepAliveTimeout: 0 }, (_, response) => {
    response.end('here')
  }).on('secureConnection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, cert, intermediate: await read(intermediate.caFile), connections: () => connections }
}

/** Asks a server, by its name and through that name server alone. */
function openTo(
  t: Test,
  servers: readonly string[],
  options: Pick<ConnectionOptions, 'port' | 'trust'>,
  server = 'vc.example',
) {
  const { signal } = new AbortController()
  const sources = { hostsFile: '/nowhere', resolverFile: '/nowhere', servers }
  const names = createNames({ clock: systemClock, signal, sources })
  const always = { server, userAgent: 'test', clock: systemClock, names }
  const connection = openConnection({ ...options, ...always })
  t.teardown(() => connection.close())
  const request = { method: 'GET', path: '/', headers: {}, deadline: 60_000, signal } as const
  return async () => await connection.request(request, async ({ body }) => await textOf(body))
}

async function resolving(t: Test, zone: Zone) {
  const server = await startNameServer(zone)
  t.teardown(() => server.close())
  return [server.address]
}

t.test('a name with two addresses, of which only the slow one can be reached', async (t) => {
  const { port } = await serve(t)
  const link = await openSlowLink(port)
  t.teardown(() => link.close())
  const servers = await resolving(t, new Map([['vc.example', ['127.0.0.1', '::1']]]))
  const ask = openTo(t, servers, { port: link.port, trust: { kind: 'insecure' } })
  await link.fill()
  t.equal(await ask(), 'here')
})

t.test('a name server that does not answer is what the error is about', async (t) => {
  const servers = await resolving(t, new Map([['vc.example', 'silent']]))
  const ask = openTo(t, servers, { port: 443, trust: { kind: 'insecure' } })
  await t.rejects(ask(), {
    reason: 'Unreachable',
    message:
      'vc.example:443 has a name for which DNS does not answer (EAI_AGAIN); check the name servers of this machine or Pod',
  })
})

t.test('an intermediate CA, and the server certificate itself, are trusted as in Go', async (t) => {
  const { port, cert, intermediate } = await serve(t)
  const servers = await resolving(
    t,
    new Map([
      ['vc.example', ['127.0.0.1']],
      ['other.example', ['127.0.0.1']],
    ]),
  )
  for (const pem of [intermediate, cert])
    t.equal(await openTo(t, servers, { port, trust: { kind: 'ca', pem } })(), 'here')
  const elsewhere = openTo(t, servers, { port, trust: { kind: 'ca', pem: cert } }, 'other.example')
  await t.rejects(elsewhere(), {
    reason: 'CertificateNotTrusted',
    message:
      /for another name: check that DNS leads to your vCenter, and write server as it is in the certificate$/,
  })
  const stranger = await serve(t)
  for (const pem of [stranger.intermediate, stranger.cert])
    await t.rejects(openTo(t, servers, { port, trust: { kind: 'ca', pem } })(), {
      reason: 'CertificateNotTrusted',
      message:
        /not trusted by the configured CA .*; check that this is your vCenter .*, then configure the CA/,
    })
})

t.test('a connection outlives some seconds without a request', async (t) => {
  const { port, connections } = await serve(t)
  const servers = await resolving(t, new Map([['vc.example', ['127.0.0.1']]]))
  const ask = openTo(t, servers, { port, trust: { kind: 'insecure' } })
  await ask()
  await sleep(6_000)
  await ask()
  t.equal(connections(), 1)
})

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const packed = gzipSync('<a>'.repeat(1_000))

t.test('inflated, however it is cut', async (t) => {
  for (const size of [1, 7, packed.length]) {
    const pieces = Array.from({ length: Math.ceil(packed.length / size) }, (_, i) =>
      packed.subarray(i * size, (i + 1) * size),
    )
    t.equal(await textOf(inflate('vc', Readable.from(pieces), 'gzip')), '<a>'.repeat(1_000))
  }
})

t.test('as it is where it was not compressed', async (t) => {
  for (const encoding of ['', 'identity']) {
    t.equal(await textOf(inflate('vc', Readable.from([Buffer.from('plain')]), encoding)), 'plain')
  }
})

t.test('what cannot be inflated is refused in words', async (t) => {
  const malformed = { reason: 'MalformedAnswer', message: /check for a proxy in between$/ }
  const read = async (body: Uint8Array, encoding: string) =>
    await textOf(inflate('vc', Readable.from([body]), encoding))
  await t.rejects(read(brotliCompressSync('x'), 'br'), malformed)
  await t.rejects(read(Buffer.from('plain'), 'gzip'), malformed)
  await t.rejects(read(packed.subarray(0, packed.length - 10), 'gzip'), malformed)
})

t.test('a connection that breaks is told as what it is', async (t) => {
  const broken = Readable.from(
    (async function* () {
      yield packed.subarray(0, 20)
      throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
    })(),
  )
  await t.rejects(textOf(inflate('vc', broken, 'gzip')), { code: 'ECONNRESET' })
})

t.test('what inflates without end is refused, and read no further', async (t) => {
  // One megabyte in a thousand bytes, again and again.
  const member = gzipSync(`<x>${'y'.repeat(100)}</x>`.repeat(10_000))
  let sent = 0
  const bomb = Readable.from(
    (async function* () {
      yield gzipSync('<Envelope>')
      for (; sent < 10_000; sent++) yield member
    })(),
  )
  await t.rejects(readXML(inflate('vc', bomb, 'gzip'), 'Envelope'), {
    reason: 'MalformedAnswer',
    message: /it is longer than 1 MB/,
  })
  bomb.destroy()
  t.ok(sent < 100, `${sent} MB were inflated`)
})
