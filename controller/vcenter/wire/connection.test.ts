import { Readable } from 'node:stream'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { inflate, openConnection } from './connection.ts'
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
    await t.rejects(answer, { reason: 'Unreachable', cause: { code: 'ECONNREFUSED', address, port } })
    await connection.close()
  }
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
