import t from 'tap'
import { load, refusal } from './testing/load.ts'

const GLOBAL = 'global:\n  user: global-user\n  password: global-pw\n'

await t.test('several vCenters, each with what is its own and the rest from global', async (t) => {
  const { config, warnings } = await load(`${GLOBAL}  datacenters: [g]
vcenter:
  east:
    server: east.example.com
    port: 8443
    insecureFlag: true
  west:
    server: west.example.com
    user: west-user
    password: west-pw
    caFile: ca.pem
    datacenters: [w1, w2]
`)
  t.match(warnings, [/vcenter\.east\.insecureFlag: no certificate is checked/])
  const [east, west, ...others] = config.vCenters.map(({ password, ...rest }) => ({
    ...rest,
    password: password.reveal(),
  }))
  t.same(others, [])
  t.strictSame(east, {
    name: 'east',
    server: 'east.example.com',
    port: 8443,
    user: 'global-user',
    password: 'global-pw',
    trust: { kind: 'insecure' },
    datacenters: ['g'],
  })
  t.match(west, {
    name: 'west',
    server: 'west.example.com',
    port: 443,
    user: 'west-user',
    password: 'west-pw',
    trust: { kind: 'ca' },
    datacenters: ['w1', 'w2'],
  })
})

await t.test('which vCenters a file names', async (t) => {
  const cases: readonly [string, string[]][] = [
    ['vcenter: {a: {server: a}, b: {server: b}, c: {server: c}}', ['a', 'b', 'c']],
    // Names are the user's own, and have case.
    ['vcenter: {a: {server: a}, A: {server: b}}', ['a', 'A']],
    ['vcenter: {a: {server: vc}, b: {server: vc, port: 444}}', ['a', 'b']],
    ['  server: 10.0.0.1\nvcenter: {a: {server: a}}', ['a', '10.0.0.1']],
    ['  server: b\nvcenter: {a: {server: a}, b: {server: 10.0.0.1}}', ['a', 'b']],
    ['  server: 10.0.0.1\nvcenter: {a: {server: a}, b: {server: 10.0.0.1}}', ['a', 'b']],
    ['  server: VC.example.com\nvcenter: {a: {server: vc.example.com.}}', ['a']],
  ]
  for (const [rest, names] of cases) {
    const { config } = await load(GLOBAL + rest)
    t.same(
      config.vCenters.map(({ name }) => name),
      names,
      rest,
    )
  }
})

await t.test('one name twice is refused', async (t) => {
  t.same(await refusal(`${GLOBAL}vcenter:\n  a: {server: vc}\n  a: {server: other}`), [
    'vsphere.conf:6:3: vcenter.a: is given twice: keep one',
  ])
})

await t.test('one server under two names is two tenants, unless both would see the same', async (t) => {
  const words = (line: number, other: string, name = 'b') =>
    `/etc/cloud/vsphere.conf:${line}:15: vcenter.${name}.server: names the same server as vcenter.${other}, with the same user and datacenters, so everything is asked twice: keep one of the two`
  const cases: readonly [string, readonly string[]][] = [
    ['a: {server: vc}\n  b: {server: vc}', [words(6, 'a')]],
    ['a: {server: vc}\n  b: {server: VC., port: 443}', [words(6, 'a')]],
    ['a: {server: "::1"}\n  b: {server: "[::1]"}', [words(6, 'a')]],
    ['a: {server: vc}\n  b: {server: vc}\n  c: {server: vc}', [words(6, 'a'), words(7, 'a', 'c')]],
    ['a: {server: vc, datacenters: [x, y]}\n  b: {server: vc, datacenters: [y, x]}', [words(6, 'a')]],
    ['a: {server: vc, datacenters: [x]}\n  b: {server: vc, datacenters: [y]}', []],
    ['a: {server: vc}\n  b: {server: vc, user: other}', []],
    ['a: {server: vc}\n  b: {server: vc, secretName: s, secretNamespace: ns}', []],
    ['a: {server: vc}\n  b: {server: vc, port: 444}', []],
  ]
  for (const [vCenters, expected] of cases) {
    const { config, warnings } = await load(`${GLOBAL}vcenter:\n  ${vCenters}`)
    t.same(warnings, expected, vCenters)
    t.equal(config.vCenters.length, vCenters.split('\n').length)
  }
})

await t.test('the mistakes of each are told', async (t) => {
  const text =
    'vcenter:\n  a: {server: a, password: p}\n  b: {user: u, password: p, port: x}\nglobal: {server: c}'
  t.same(
    (await refusal(text)).map((line) => line.split(': ').slice(1, 3).join(': ')),
    [
      'vcenter.a.user: is missing',
      'vcenter.b.server: is missing',
      'vcenter.b.port: expected a number from 1 to 65535, got text of 1 character',
      'global.user: is missing',
      'global.password: is missing',
    ],
  )
})
