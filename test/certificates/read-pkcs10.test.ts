// What our reader of certificate requests takes, Go takes as well, and reads in the same way; so does openssl.
import { execFile, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import ipaddr from 'ipaddr.js'
import t from 'tap'
import { readRequest } from '../../controller/loops/certificates/read-pkcs10.ts'
import {
  alternativeNames,
  challengePassword,
  commonName,
  dns,
  email,
  encoded,
  extensionRequest,
  ip,
  makeRequest,
  organization,
  organizations,
  P384_KEY,
  pem,
  type RequestParts,
  requestDER,
  subjectOf,
  uri,
} from '../../controller/loops/certificates/testing/make-request.ts'
import { serverBinary } from '../servers/build.ts'

interface GoAnswer {
  readonly refused?: string
  readonly commonName: string
  readonly organizations: readonly string[] | null
  readonly dnsNames: readonly string[]
  /** In hexadecimal. */
  readonly addresses: readonly string[]
  readonly others: number
  readonly extensions: number
}

const reader = await serverBinary('csr-reader')
const SEED = Number(process.env.SEED ?? 1)
const COUNT = 20_000

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
const random = randomOf(SEED)
const below = (limit: number) => Math.floor(random() * limit)
const oneOf = <T>(items: readonly T[]): T => items[below(items.length)] as T

/** What Go makes of each. */
function askGo(requests: readonly string[]): readonly GoAnswer[] {
  const output = execFileSync(reader, { input: `${requests.join('\n')}\n`, maxBuffer: 1 << 28 })
  return output
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as GoAnswer)
}

/** Requests of all kinds, ordinary and odd. */
function generated(): RequestParts {
  const name = oneOf(['worker-1', 'a', 'x'.repeat(63), 'worker-1.example.com'])
  const names = Array.from({ length: 1 + below(6) }, () =>
    oneOf([
      () => dns(name),
      () => dns(oneOf(['*', 'a..b', '', 'wörker', '-', 'A.B.', '10.0.0.5', '\0'])),
      () => ip(`10.${below(256)}.${below(256)}.${below(256)}`),
      () => ip(`fd00::${below(65_536).toString(16)}`),
      () => ip('::ffff:10.0.0.5'),
      ...(random() < 0.1 ? [() => email('a@b'), () => uri('https://a')] : []),
    ])(),
  )
  const subject = oneOf([
    subjectOf(`system:node:${name}`),
    [commonName(`system:node:${name}`, 0x0c), organization('system:nodes', 0x0c)],
    [organizations('system:nodes', 'system:masters'), commonName('a')],
    [organization('system:nodes'), organization('b'), commonName('a', 0x16)],
  ])
  return {
    names,
    subject,
    ...(random() < 0.1
      ? { attributes: [extensionRequest(alternativeNames(...names)), challengePassword()] }
      : {}),
    ...(random() < 0.1 ? { key: P384_KEY } : {}),
  }
}

function mutated(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const at = below(copy.length)
  switch (below(5)) {
    case 0:
      copy[at] = (copy[at] ?? 0) ^ (1 << below(8))
      return copy
    case 1:
      copy[at] = below(256)
      return copy
    case 2:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + 1 + below(3))])
    case 3:
      return Buffer.concat([copy.subarray(0, at), Buffer.from([below(256)]), copy.subarray(at)])
    default:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at, at + below(40)), copy.subarray(at)])
  }
}

/** Changed before it was signed, so that what is inside is read, or after that; or its text is. */
function sample(): string {
  const parts = random() < 0.5 ? generated() : {}
  const times = below(3)
  const change = (bytes: Buffer) => {
    let changed = bytes
    for (let i = 0; i < times; i++) changed = mutated(changed)
    return changed
  }
  const where = random()
  if (where < 0.7) return makeRequest({ ...parts, mutate: change })
  if (where < 0.9) return encoded(pem(change(requestDER(parts))))
  return change(Buffer.from(pem(requestDER(parts)))).toString('base64')
}

const samples = Array.from({ length: COUNT }, sample)
const accepted: string[] = []

t.test('Go takes what we take, and reads it in the same way', async (t) => {
  const answers = askGo(samples)
  t.equal(answers.length, COUNT)
  let both = 0
  for (const [i, request] of samples.entries()) {
    const read = readRequest(request)
    const answer = answers[i]
    if (!read.ok) continue
    accepted.push(request)
    const { value } = read
    const expected = {
      commonName: value.commonName,
      organizations: value.organizations,
      dnsNames: value.dnsNames,
      addresses: value.addresses.map((each) => Buffer.from(ipaddr.parse(each).toByteArray()).toString('hex')),
      others: 0,
      extensions: 1,
    }
    const found = { ...answer, organizations: answer?.organizations ?? [] }
    if (JSON.stringify(found) === JSON.stringify(expected)) both++
    else t.same(found, expected, request)
  }
  t.comment(
    `seed ${SEED}: ${COUNT} requests, ${answers.filter(({ refused }) => refused === undefined).length} taken by Go, ${both} by both`,
  )
  t.ok(both > COUNT / 20)
})

t.test('openssl takes what we take', async (t) => {
  const dir = t.testdir()
  const some = accepted.filter((_, i) => i % Math.ceil(accepted.length / 200) === 0)
  t.ok(some.length > 50)
  for (const [i, request] of some.entries()) {
    const file = join(dir, `${i}.pem`)
    writeFileSync(file, Buffer.from(request, 'base64'))
    const { stderr } = await promisify(execFile)('openssl', ['req', '-in', file, '-noout', '-verify'])
    t.match(stderr, /verify OK/, request)
  }
})

t.test('a request of openssl is taken where it says what a kubelet would', async (t) => {
  const dir = t.testdir()
  const ask = (...more: string[]) => {
    const args = [
      'req',
      '-new',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-keyout',
      join(dir, 'key'),
    ]
    const subject = ['-subj', '/O=system:nodes/CN=system:node:worker-1']
    return execFileSync('openssl', [...args, ...subject, ...more], {
      stdio: ['ignore', 'pipe', 'ignore'],
    }).toString()
  }
  const read = (text: string) => readRequest(encoded(text))
  t.match(read(ask('-addext', 'subjectAltName=DNS:worker-1,IP:10.0.0.5')), {
    ok: true,
    value: { dnsNames: ['worker-1'], addresses: ['10.0.0.5'] },
  })
  t.match(read(ask()), { ok: false })
  t.match(read(ask('-addext', 'subjectAltName=email:a@example.com')), { ok: false })
})
