import t from 'tap'
import { readRequest } from './read-pkcs10.ts'
import {
  alternativeNames,
  attributeOf,
  challengePassword,
  commonName,
  country,
  der,
  dns,
  email,
  encoded,
  extension,
  extensionRequest,
  ip,
  makeRequest,
  OTHER_KEY,
  organization,
  organizations,
  P384_KEY,
  pem,
  type RequestParts,
  requestDER,
  rsaKey,
  subjectOf,
  uri,
} from './testing/make-request.ts'

const NAMES = [dns('worker-1'), ip('10.0.0.5')]
const subject = subjectOf('system:node:worker-1')

t.test('the request of a kubelet is read', async (t) => {
  t.same(readRequest(makeRequest()), {
    ok: true,
    value: {
      commonName: 'system:node:worker-1',
      organizations: ['system:nodes'],
      dnsNames: ['worker-1'],
      addresses: ['10.0.0.5'],
    },
  })
})

const taken: [string, RequestParts, object][] = [
  ['IPv6', { names: [ip('fd00::5')] }, { addresses: ['fd00::5'], dnsNames: [] }],
  [
    'an IPv4 address mapped to IPv6 stays one',
    { names: [ip('::ffff:10.0.0.5')] },
    { addresses: ['::ffff:a00:5'] },
  ],
  [
    'a name of UTF-8',
    { subject: [organization('system:nodes'), commonName('system:node:ä', 0x0c)] },
    { commonName: 'system:node:ä' },
  ],
  [
    'two organizations',
    { subject: [...subject, organization('system:masters')] },
    { organizations: ['system:nodes', 'system:masters'] },
  ],
  ['another curve', { key: P384_KEY }, { commonName: 'system:node:worker-1' }],
]
for (const [what, parts, content] of taken)
  t.test(`${what}`, async (t) => {
    t.match(readRequest(makeRequest(parts)), { ok: true, value: content })
  })

const KEY_USAGE = extension('551d0f', der(0x03, Buffer.from([5, 0xa0])))
const san = alternativeNames(...NAMES)
const refused: [string, RequestParts, RegExp][] = [
  [
    'an e-mail address',
    { names: [...NAMES, email('a@example.com')] },
    /neither a DNS name nor an IP address/,
  ],
  ['a URI', { names: [...NAMES, uri('https://worker-1')] }, /neither a DNS name nor an IP address/],
  ['another kind of name', { names: [...NAMES, der(0xa4, der(0x30))] }, /neither a DNS name/],
  ['no name', { names: [] }, /has 0 subject alternative names/],
  ['an empty DNS name', { names: [dns('')] }, /a DNS name that is not one/],
  ['a DNS name with a zero byte', { names: [dns('worker-1\0.evil')] }, /a DNS name that is not one/],
  ['a DNS name of other letters', { names: [dns('wörker-1')] }, /a DNS name that is not one/],
  [
    'an address of five bytes',
    { names: [der(0x87, Buffer.from([10, 0, 0, 5, 255]))] },
    /an IP address of 5 bytes/,
  ],
  ['an address with a mask', { names: [der(0x87, Buffer.from([10, 0, 0, 5, 255, 255, 255, 0]))] }, /8 bytes/],
  ['an empty address', { names: [der(0x87)] }, /an IP address of 0 bytes/],
  [
    'two extensions of names',
    { attributes: [extensionRequest(san, alternativeNames(ip('10.0.0.6')))] },
    /other parts in the attributes|other parts in the extensions/,
  ],
  [
    'two attributes of extensions',
    { attributes: [extensionRequest(san), extensionRequest(san)] },
    /other parts/,
  ],
  [
    'two values in that attribute',
    { attributes: [attributeOf('2a864886f70d01090e', der(0x30, san), der(0x30, san))] },
    /other parts/,
  ],
  ['another extension', { attributes: [extensionRequest(KEY_USAGE)] }, /an extension other than/],
  ['another extension beside', { attributes: [extensionRequest(san, KEY_USAGE)] }, /other parts/],
  [
    'a critical extension',
    {
      attributes: [
        extensionRequest(
          der(
            0x30,
            Buffer.from('0603551d11', 'hex'),
            der(0x01, Buffer.from([0xff])),
            der(0x04, der(0x30, ...NAMES)),
          ),
        ),
      ],
    },
    /other parts/,
  ],
  ['another attribute', { attributes: [challengePassword()] }, /an attribute other than extensions/],
  ['another attribute beside', { attributes: [extensionRequest(san), challengePassword()] }, /other parts/],
  ['no attribute', { attributes: [] }, /other parts/],
  [
    'two values in O',
    { subject: [organizations('system:nodes', 'system:masters'), commonName('system:node:worker-1')] },
    /a part of the subject/,
  ],
  ['two common names', { subject: [...subject, commonName('system:node:worker-2')] }, /has 2 common names/],
  ['no common name', { subject: [organization('system:nodes')] }, /has 0 common names/],
  ['an empty subject', { subject: [] }, /has 0 common names/],
  ['more in the subject', { subject: [...subject, country('DE')] }, /more in its subject/],
  ['a subject of bytes', { subject: [organization('system:nodes'), commonName('a', 0x04)] }, /not text/],
  [
    'a subject that is not UTF-8',
    { subject: [der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from([0xff]))))] },
    /not text/,
  ],
  ['another version', { version: der(0x02, Buffer.from([1])) }, /not of version 1/],
  ['a key of another kind', { key: rsaKey() }, /of a kind that kubelets do not use/],
  ['a signature of another key', { signedWith: OTHER_KEY }, /not signed with its own key/],
  [
    'a point that is not on the curve',
    { mutate: (info) => flipped(info, info.indexOf('03420004', 'hex') + 10) },
    /not signed with its own key/,
  ],
]
for (const [what, parts, problem] of refused)
  t.test(`it refuses ${what}`, async (t) => {
    const read = readRequest(makeRequest(parts))
    t.equal(read.ok, false)
    t.match(read.ok ? '' : read.message, problem)
  })

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] ?? 0) ^ 1
  return copy
}

const whole = pem(requestDER())
const written: [string, string, RegExp][] = [
  ['nothing', '', /one PEM block/],
  ['two blocks', whole + whole, /one PEM block/],
  ['text before the block', `Hello\n${whole}`, /one PEM block/],
  ['text after the block', `${whole}Hello`, /one PEM block/],
  ['a header in the block', whole.replace('-----\n', '-----\nProc-Type: 4,ENCRYPTED\n\n'), /one PEM block/],
  ['another kind of block', pem(requestDER(), 'CERTIFICATE'), /one PEM block/],
  ['the older name of the block', pem(requestDER(), 'NEW CERTIFICATE REQUEST'), /one PEM block/],
  ['bytes after the request', pem(Buffer.concat([requestDER(), Buffer.from([0])])), /not DER/],
  [
    'an element after the request',
    pem(Buffer.concat([requestDER(), der(0x05)])),
    /other parts in the request/,
  ],
  ['a request that is cut off', pem(requestDER().subarray(0, -3)), /not DER/],
  [
    'a length that is not the shortest',
    pem(Buffer.concat([Buffer.from([0x30, 0x83, 0, 1, 0]), Buffer.alloc(256)])),
    /not DER/,
  ],
  ['a length that is not given', pem(Buffer.from([0x30, 0x80, 0, 0])), /not DER/],
  ['a tag of several bytes', pem(Buffer.from([0x3f, 0x81, 0x01, 0])), /not DER/],
  [
    'base64 with spare bits',
    whole.replace(/([A-Za-z0-9+/])(=?=?)\n-----END/, (_, __, pad) => `_${pad}\n-----END`),
    /./,
  ],
]
for (const [what, text, problem] of written)
  t.test(`it refuses ${what}`, async (t) => {
    const read = readRequest(encoded(text))
    t.match(read.ok ? '' : read.message, problem)
  })

t.test('it refuses what is not base64, and what is long', async (t) => {
  t.match(readRequest('*'), { ok: false, message: 'is not base64' })
  t.match(readRequest('A'.repeat(20_000)), { ok: false, message: 'has 20000 characters' })
  t.match(readRequest(makeRequest({ names: Array.from({ length: 65 }, () => ip('10.0.0.5')) })), {
    ok: false,
    message: 'has 65 subject alternative names',
  })
})

t.test('no message repeats what a stranger wrote', async (t) => {
  const texts = [makeRequest({ names: [dns('secret name')] }), makeRequest({ subject: [country('secret')] })]
  for (const text of texts) {
    const read = readRequest(text)
    t.notMatch(read.ok ? '' : read.message, /secret/)
  }
})
