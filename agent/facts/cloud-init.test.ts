import { gzipSync } from 'node:zlib'
import t from 'tap'
import { parseMetadata } from './cloud-init.ts'

const METADATA = `
instance-id: "vm-1"
local-hostname: n1
network:
  version: 2
  ethernets:
    id0:
      match: {macaddress: "00:50:56:8e:3f:74"}
      addresses: [10.0.0.5/24, "fd00::5/64"]
    id1:
      dhcp4: true
      addresses:
        - 10.1.0.5/24: {label: x}
`
const EXPECTED = {
  ok: true,
  value: {
    instanceID: 'vm-1',
    localHostname: 'n1',
    addresses: ['10.0.0.5/24', 'fd00::5/64', '10.1.0.5/24'],
  },
}

const base64 = (text: string | Buffer) => Buffer.from(text).toString('base64')

t.test('encodings', async (t) => {
  t.same(await parseMetadata(METADATA, undefined), EXPECTED)
  t.same(await parseMetadata(base64(METADATA), 'base64'), EXPECTED)
  t.same(await parseMetadata(base64(METADATA).replace(/(.{60})/g, '$1\n'), ' B64\n'), EXPECTED)
  t.same(await parseMetadata(base64(gzipSync(METADATA)), 'gzip+base64'), EXPECTED)
  t.same(await parseMetadata(base64(gzipSync(METADATA)), 'gz+b64'), EXPECTED)
})

t.test('shapes', async (t) => {
  const network = '{"version":2,"ethernets":{"a":{"addresses":["10.0.0.5"]}}}'
  for (const [name, text, expected] of [
    ['JSON', '{"instance-id": "i"}', { instanceID: 'i' }],
    ['a number', 'instance-id: 7', { instanceID: '7' }],
    ['nothing of ours', 'public-keys: []', {}],
    ['encoded network', `network: ${base64(network)}\nnetwork.encoding: base64`, { addresses: ['10.0.0.5'] }],
    ['fields of other shapes', 'instance-id: [1]\nlocal-hostname: {a: b}\nnetwork: 7', {}],
    ['ethernets of other shapes', 'network: {ethernets: [1], bonds: {a: 1, b: {addresses: x}}}', {}],
    [
      'no addresses',
      'network: {ethernets: {a: {addresses: [10.0.0/24, x, 7, "fe80::1%eth0/64", 1/2/3, "/", ""]}}}',
      {},
    ],
    [
      'impossible prefix lengths',
      'network: {ethernets: {a: {addresses: [10.0.0.5/64, 10.0.0.6/255.255.255.0, 10.0.0.7/, "fd00::5/129", fd00::6/64/1, 10.0.0.5]}}}',
      { addresses: ['10.0.0.5', '10.0.0.6', '10.0.0.7', 'fd00::5', 'fd00::6'] },
    ],
    ['control characters', 'instance-id: "a\\u0000b"', {}],
    ['a long one', `instance-id: ${'x'.repeat(129)}`, {}],
  ] as const) {
    t.same(await parseMetadata(text, undefined), { ok: true, value: expected }, name)
  }
})

t.test('hostile', async (t) => {
  const bomb = ['a: &a0 [x, x, x, x, x, x, x, x, x, x]']
  for (let i = 1; i < 10; i++) bomb.push(`b${i}: &a${i} [${`*a${i - 1}, `.repeat(10)}]`)
  for (const [name, text, encoding, reason] of [
    ['empty', '', undefined, 'Malformed'],
    ['a list', '- a', undefined, 'Malformed'],
    ['not YAML', '\t{', undefined, 'Malformed'],
    ['deep', '['.repeat(20_000), undefined, 'Malformed'],
    ['deeper', '{a: '.repeat(15_000), undefined, 'Malformed'],
    ['a bomb of aliases', bomb.join('\n'), undefined, 'Malformed'],
    ['not base64', 'a:b', 'base64', 'Malformed'],
    ['not gzip', base64('hello'), 'gzip+base64', 'Malformed'],
    ['an unknown encoding', 'aGk=', 'rot13', 'UnknownEncoding'],
    ['a bomb of gzip', base64(gzipSync(Buffer.alloc(10_000_000))), 'gzip+base64', 'TooLong'],
    ['long', ' '.repeat(200_000), undefined, 'TooLong'],
  ] as const) {
    const fact = await parseMetadata(text, encoding)
    t.match(fact, { ok: false, reason, message: /^guestinfo\.metadata/ }, name)
  }
})
