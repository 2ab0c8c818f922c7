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
  t.same(warnings, [])
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

await t.test('one vCenter twice is refused', async (t) => {
  const cases: readonly [string, string[]][] = [
    [
      'vcenter:\n  a: {server: vc}\n  b: {server: vc}',
      [
        'vsphere.conf:6:15: vcenter.b.server: names the same server as vcenter.a, which would show each VM twice: keep one of the two',
      ],
    ],
    [
      'vcenter:\n  a: {server: vc}\n  b: {server: VC., port: 443}',
      ['vcenter.b.server: names the same server'],
    ],
    ['vcenter:\n  a: {server: "::1"}\n  b: {server: "[::1]"}', ['vcenter.b.server: names the same server']],
    [
      'vcenter:\n  a: {server: vc}\n  b: {server: vc}\n  c: {server: vc}',
      [
        'vcenter.b.server: names the same server as vcenter.a',
        'vcenter.c.server: names the same server as vcenter.a',
      ],
    ],
    [
      'vcenter:\n  a: {server: vc}\n  a: {server: other}',
      ['vsphere.conf:6:3: vcenter.a: is given twice: keep one'],
    ],
    [
      '  server: x\n  port: 0\nvcenter:\n  a: {server: vc}\n  b: {server: vc}',
      ['vcenter.b.server: names the same'],
    ],
  ]
  for (const [rest, expected] of cases) {
    const lines = await refusal(GLOBAL + rest)
    t.equal(lines.length, expected.length, lines.join(' | '))
    for (const [i, words] of expected.entries()) t.ok(lines[i]?.includes(words), `${words} in ${lines[i]}`)
  }
})

await t.test('two tenants of one server are told what to do', async (t) => {
  const base = 'names the same server as vcenter.a, which would show each VM twice: keep one of the two'
  const cases: readonly [string, string][] = [
    ['a: {server: vc, datacenters: [x, y]}\n  b: {server: vc, datacenters: [y, x]}', base],
    [
      'a: {server: vc, datacenters: [x]}\n  b: {server: vc, datacenters: [y]}',
      `${base}, and list the datacenters of both there`,
    ],
    [
      'a: {server: vc}\n  b: {server: vc, user: other}',
      `${base}, for an account that may read all; one for each tenant is not supported yet`,
    ],
  ]
  for (const [vCenters, message] of cases)
    t.same(await refusal(`${GLOBAL}vcenter:\n  ${vCenters}`), [
      `vsphere.conf:6:15: vcenter.b.server: ${message}`,
    ])
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
