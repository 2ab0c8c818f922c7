import t from 'tap'
import type { VCenterConfig } from './config.ts'
import { ConfigError } from './findings.ts'
import { loadConfig } from './load.ts'
import { CERTIFICATE } from './test-certificate.ts'

const FOLDER = '/etc/cloud'
const FILE = `${FOLDER}/vsphere.conf`
const SHA1 = '42:0E:3F:74:EA:84:F9:A2:77:36:61:06:BB:5D:BF:6B:00:11:22:33'

/** A file system of these files; everything else is not there. */
async function load(text: string | Uint8Array, files: Record<string, string> = {}) {
  const all: Record<string, string | Uint8Array> = {
    [`${FOLDER}/ca.pem`]: CERTIFICATE,
    ...files,
    [FILE]: text,
  }
  const readFile = async (path: string) => {
    const found = all[path]
    if (found === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
    return typeof found === 'string' ? new TextEncoder().encode(found) : found
  }
  return loadConfig({ path: FILE, readFile })
}

/** The one vCenter, password in clear, and the warnings without the file's folder. */
async function loaded(text: string, files?: Record<string, string>) {
  const { config, warnings } = await load(text, files)
  const [vCenter, ...others] = config.vCenters
  t.same(others, [])
  return {
    labels: config.labels,
    vCenter: vCenter && { ...vCenter, password: vCenter.password.reveal() },
    warnings: warnings.map((warning) => warning.replace(`${FOLDER}/`, '')),
  }
}

async function refusal(text: string | Uint8Array, files?: Record<string, string>): Promise<string[]> {
  const error = await load(text, files).then(
    () => t.fail('loaded', { text }),
    (error: unknown) => error,
  )
  if (!(error instanceof ConfigError)) throw new Error('no ConfigError', { cause: error })
  return error.message.split('\n').map((line) => line.replace(`${FOLDER}/`, ''))
}

const BASE: Omit<VCenterConfig, 'password'> & { password: string } = {
  name: 'vc1',
  server: 'vc.example.com',
  port: 443,
  user: 'ops@vsphere.local',
  password: 'pw',
  trust: { kind: 'system' },
  datacenters: [],
}
/** A right file in its shortest form, plus these lines below the vCenter and below all. */
const file = (settings = '', rest = '') =>
  `vcenter:\n  vc1:\n    server: vc.example.com\n    user: ops@vsphere.local\n    password: pw\n${settings}\n${rest}`

await t.test('what the fields of a vCenter become', async (t) => {
  const cases: readonly [string, Partial<typeof BASE>][] = [
    ['', {}],
    ['    port: 8443', { port: 8443 }],
    ['    port: "8443"', { port: 8443 }],
    ['    port: 0', {}],
    ['    port:', {}],
    ['    insecureFlag: true', { trust: { kind: 'insecure' } }],
    ['    insecure-flag: "1"', { trust: { kind: 'insecure' } }],
    ['    INSECURE_FLAG: yes', { trust: { kind: 'insecure' } }],
    ['    insecureFlag: off', {}],
    ['    datacenters: [a, /dc/b]', { datacenters: ['a', '/dc/b'] }],
    ['    datacenters:\n      - a\n      - b', { datacenters: ['a', 'b'] }],
    ['    datacenters:\n    - 1', { datacenters: ['1'] }],
    ['    datacenters: a, b,', { datacenters: ['a', 'b'] }],
    ['    datacenters: ""', {}],
    ['    datacenters: []', {}],
    [
      `    thumbprint: ${SHA1}`,
      { trust: { kind: 'thumbprint', thumbprint: '420e3f74ea84f9a277366106bb5dbf6b00112233' } },
    ],
    [`    thumbprint: ${'ab'.repeat(32)}`, { trust: { kind: 'thumbprint', thumbprint: 'ab'.repeat(32) } }],
    [`    caFile: ca.pem`, { trust: { kind: 'ca', pem: CERTIFICATE.trim() } }],
    [`    ca-file: /etc/cloud/ca.pem`, { trust: { kind: 'ca', pem: CERTIFICATE.trim() } }],
    [
      `    caFile: ca.pem:/etc/cloud/ca.pem`,
      { trust: { kind: 'ca', pem: `${CERTIFICATE.trim()}\n${CERTIFICATE.trim()}` } },
    ],
    ['    thumbprint: ~\n    caFile: null\n    secretName: ""\n    ipFamily: []', {}],
    ['    ipFamily: [ipv4, ipv6]', {}],
  ]
  for (const [settings, expected] of cases) {
    t.same(
      await loaded(file(settings)),
      { labels: { zone: undefined, region: undefined }, vCenter: { ...BASE, ...expected }, warnings: [] },
      settings,
    )
  }
})

await t.test('a password is taken as it is written', async (t) => {
  const cases: readonly [string, string][] = [
    ['007', '007'],
    ['1e100', '1e100'],
    ['yes', 'yes'],
    ['a#b;c=d!', 'a#b;c=d!'],
    [`'it''s # not "that"'`, `it's # not "that"`],
    [String.raw`"back\\slash \"q\" \u00e4"`, 'back\\slash "q" ä'],
    [String.raw`back\slash`, String.raw`back\slash`],
    ['a:b', 'a:b'],
    [`' blank '`, ' blank '],
    ['|-\n      block', 'block'],
    ['pässwörd', 'pässwörd'],
  ]
  for (const [written, password] of cases) {
    const { vCenter } = await loaded(file().replace('pw', written))
    t.equal(vCenter?.password, password, written)
  }
})

await t.test('what is inherited from global, as in the CPI', async (t) => {
  const globals = `global:
  user: global-user
  password: global-pw
  port: 1443
  insecureFlag: false
  thumbprint: ${SHA1}
  datacenters: [g1, g2]
`
  const trust = { kind: 'thumbprint', thumbprint: '420e3f74ea84f9a277366106bb5dbf6b00112233' }
  const inherited = {
    user: 'global-user',
    password: 'global-pw',
    port: 1443,
    datacenters: ['g1', 'g2'],
    trust,
  }
  const cases: readonly [string, Record<string, unknown>][] = [
    ['vcenter:\n  vc1:\n    server: vc.example.com\n', {}],
    [
      'vcenter:\n  vc1:\n    server: vc.example.com\n    port: 443\n    user: own\n',
      { port: 443, user: 'own' },
    ],
    ['vcenter: {vc1: {server: vc.example.com, datacenters: own}}', { datacenters: ['own'] }],
    ['vcenter: {vc1: {server: vc.example.com, insecureFlag: true}}', { trust: { kind: 'insecure' } }],
    ['  server: vc.example.com', { name: 'vc.example.com' }],
    // The vCenter that global names is under another name here, with settings of its own.
    ['  server: vc.example.com\nvcenter: {vc1: {server: vc.example.com, port: 1}}', { port: 1 }],
    ['  server: vc1\nvcenter: {vc1: {server: vc.example.com}}', {}],
  ]
  for (const [rest, expected] of cases) {
    const { vCenter } = await loaded(globals + rest)
    t.same(vCenter, { ...BASE, ...inherited, ...expected }, rest)
  }
  const set = await loaded(
    `${globals.replace('false', 'true')}vcenter: {vc1: {server: vc, insecureFlag: false}}`,
  )
  t.same(set.vCenter?.trust, { kind: 'insecure' }, 'a global flag cannot be taken back')
})

await t.test('labels, each on its own', async (t) => {
  const cases: readonly [string, { zone: string | undefined; region: string | undefined }][] = [
    ['labels: {zone: k8s-zone, region: k8s-region}', { zone: 'k8s-zone', region: 'k8s-region' }],
    ['labels:\n  region: r', { zone: undefined, region: 'r' }],
    ['labels:\n  zone:\n  region: ""', { zone: undefined, region: undefined }],
    ['Labels: {Zone: z}', { zone: 'z', region: undefined }],
  ]
  for (const [rest, labels] of cases) t.same((await loaded(file('', rest))).labels, labels, rest)
})

await t.test('accepted with a warning', async (t) => {
  const cases: readonly [string, string[]][] = [
    ['    soapRoundtripCount: 3', ['vsphere.conf:6:5: vcenter.vc1.soapRoundtripCount: has no effect, calls']],
    ['global: {apiDisable: true, api-binding: ":43001"}', ['global.apiDisable', 'global.apiBinding']],
    ['global:\n  service-account: ccm', ['global.serviceAccount: has no effect']],
    ['nsxt: {user: a, password: b}', ['vsphere.conf:6:1: nsxt: has no effect']],
    ['    ipFamily: ipv4', ['vcenter.vc1.ipFamily: has no effect, an IPv6 address']],
    ['global: {insecureFlag: true}', []],
    [
      '    insecureFlag: true\n    caFile: gone.pem',
      ['vsphere.conf:7:13: vcenter.vc1.caFile: has no effect beside insecureFlag'],
    ],
    [
      '    insecureFlag: true\n    thumbprint: x',
      ['vcenter.vc1.thumbprint: has no effect beside insecureFlag'],
    ],
    [
      `    caFile: ca.pem\nglobal: {thumbprint: "${SHA1}"}`,
      ['global.thumbprint: has no effect beside caFile'],
    ],
  ]
  for (const [rest, expected] of cases) {
    const { warnings } = await loaded(file(rest))
    t.equal(warnings.length, expected.length, rest)
    for (const [index, words] of expected.entries()) t.match(warnings[index], words, rest)
  }
})

await t.test('refused, in words that name the place and the next step', async (t) => {
  const cases: readonly [string, string[]][] = [
    // the file
    ['', ['vsphere.conf: is empty: write it as in "vcenter:']],
    ['# nothing\n---\n', ['vsphere.conf: is empty']],
    ['[Global]\nuser = "x"', ['vsphere.conf: this is the INI form, which is not read yet: write it as YAML']],
    ['; old\n\n[VirtualCenter "10.0.0.1"]\nuser = "x"', ['the INI form']],
    ['[Labels] # x', ['the INI form']],
    [
      'hello',
      ['vsphere.conf:1:1: expected "global:", "vcenter:" and "labels:" at the top, got text of 5 characters'],
    ],
    [
      '- a\n- b',
      ['vsphere.conf:1:1: expected "global:", "vcenter:" and "labels:" at the top, got a list of 2 items'],
    ],
    ['a: 1\n---\nb: 2', ['vsphere.conf:2:1: a second document begins here']],
    [file().replace('pw', 'a: b'), ['vsphere.conf:5:15: this is not YAML, a value holds a colon']],
    [file().replace('pw', '"a'), ['this is not YAML, a closing quote or bracket']],
    [file().replace('pw', '@a'), ['vsphere.conf:5:15: a value cannot begin with this character: put']],
    [
      file().replace('pw', '*a'),
      ['vsphere.conf:5:15: this "*" refers to an anchor that does not stand above'],
    ],
    [file().replace('pw', '!a b'), ['vsphere.conf:5:15: a tag (!...) or directive']],
    [file().replace('pw', '!!binary aGk='), ['a tag (!...)']],
    [file().replace('pw', String.raw`"a\qb"`), ['this backslash means nothing in double quotes']],
    [file().replace('    user', '\tuser'), ['vsphere.conf:4:1: this is not YAML, a tab is used']],
    [file().replace('password: pw', 'password:pw'), ['the colon and blank after a key is missing']],
    ['['.repeat(20_000), ['this is nested too deeply']],
    ['? [a]\n: b', ['vsphere.conf:1:1: a key here is no plain text']],
    [file('    <<: {port: 1}'), ['vsphere.conf:6:5: merging maps by "<<" is not read']],
    // keys
    [file('    prot: 1'), ['vsphere.conf:6:5: vcenter.vc1.prot: unknown key: did you mean "port"?']],
    [file('', 'vcentre: {}'), ['vsphere.conf:7:1: vcentre: unknown key: did you mean "vcenter"?']],
    [
      file('    secretsDirectory: /x'),
      ['vcenter.vc1.secretsDirectory: unknown key: it belongs under "global"'],
    ],
    [file('', 'zone: z'), ['vsphere.conf:7:1: zone: unknown key: it belongs under "labels"']],
    [file('', 'storage: z'), ['storage: unknown key: known here are global, vcenter, labels, nodes']],
    [file('    port: 1\n    port: 2'), ['vsphere.conf:7:5: vcenter.vc1.port: stands twice, first in line 6']],
    [file('    caFile: ca.pem\n    ca-file: ca.pem'), ['vsphere.conf:7:5: vcenter.vc1.caFile: stands twice']],
    [file('  vc1: {server: a}'), ['vsphere.conf:6:3: vcenter.vc1: stands twice: keep one']],
    // vCenters
    ['global: {user: u}', ['vsphere.conf: vcenter: no vCenter: write']],
    ['vcenter:\n', ['no vCenter']],
    [
      'vcenter: [a]',
      [
        'vsphere.conf:1:10: vcenter: expected a name for each vCenter and its settings below it, got a list of 1 item',
      ],
    ],
    [
      'vcenter:\n  server: a\n  user: b\n  password: c',
      [
        'vsphere.conf:2:3: vcenter: "server" stands where a vCenter\'s name',
        'vcenter: "user"',
        'vcenter: "password"',
      ],
    ],
    [
      file('  b: {server: b, user: u, password: p}'),
      ['vsphere.conf:6:3: vcenter.b: several vCenters (vc1, b) are not served yet: keep one'],
    ],
    [file('', 'global: {server: 10.0.0.1}'), ['vsphere.conf:7:18: global: several vCenters (vc1, 10.0.0.1)']],
    [
      'vcenter:\n  vc1:\n',
      [
        'vsphere.conf:2:3: vcenter.vc1.server: is missing: write the host',
        'user: is missing',
        'password: is missing',
      ],
    ],
    [
      'vcenter: {10.0.0.1: {user: u, password: p}}',
      ['vcenter.10.0.0.1.server: is missing: write "server: 10.0.0.1"'],
    ],
    [
      'vcenter: {vc1: {server: [a], user: {b: c}, password: [d]}}',
      [
        'vc1.server: expected text, got a list of 1 item',
        'vc1.user: expected text, got a map of 1 key',
        'vc1.password: expected text, got a list',
      ],
    ],
    [
      'vcenter: {vc1: text}',
      [
        'vcenter.vc1: expected settings below it, got text of 4 characters',
        'server: is missing',
        'user',
        'password',
      ].toSorted(),
    ],
    // values
    [
      file('    port: 99999'),
      ['vsphere.conf:6:11: vcenter.vc1.port: expected a number from 1 to 65535, got text of 5 characters'],
    ],
    [file('    port: https'), ['vcenter.vc1.port: expected a number']],
    [file('    port: -1'), ['vcenter.vc1.port: expected a number']],
    [
      file('    insecureFlag: maybe'),
      ['vcenter.vc1.insecureFlag: expected true or false, got text of 5 characters'],
    ],
    [
      file('', 'global: {insecureFlag: maybe, port: x}'),
      ['global.insecureFlag: expected true', 'global.port: expected a number'],
    ],
    [
      file('    datacenters: [[a]]'),
      ['vsphere.conf:6:19: vcenter.vc1.datacenters: expected text in this list, got a list of 1 item'],
    ],
    [file('    datacenters: {a: b}'), ['vcenter.vc1.datacenters: expected a list of text, got a map']],
    [
      file('    thumbprint: 42:0E'),
      [
        "vcenter.vc1.thumbprint: expected the SHA-1 (40 hex digits) or SHA-256 (64) of vCenter's certificate, got 4 of them",
      ],
    ],
    [file('    thumbprint: sha1-zz'), ['got text of 7 characters: take it from']],
    [
      file('    caFile: gone.pem'),
      ['vcenter.vc1.caFile: /etc/cloud/gone.pem does not exist: check the path'],
    ],
    [file('    caFile: key.pem'), ['/etc/cloud/key.pem holds no PEM certificate, but a private key']],
    [file('    caFile: broken.pem'), ['/etc/cloud/broken.pem holds certificate 2 of 2 that cannot be read']],
    [
      file('    caFile: |\n      -----BEGIN CERTIFICATE-----'),
      ['vcenter.vc1.caFile: expected a path, got PEM text'],
    ],
    [
      file().replace('ops@vsphere.local', '"-----BEGIN CERTIFICATE-----"'),
      ['vcenter.vc1.user: a certificate as user is not supported yet'],
    ],
    [file('    ipFamily: [ipv5]'), ['vcenter.vc1.ipFamily: expected ipv4, ipv6 or a list of both']],
    [file('    ipFamily: [ipv6, ipv4]'), ['vcenter.vc1.ipFamily: IPv6 first or alone is not supported yet']],
    // not served yet
    [
      file('', 'global: {secretName: s, secret-namespace: n}'),
      ['global.secretName: credentials from a Secret are not supported yet', 'global.secretNamespace'],
    ],
    [
      file('', 'nodes: {internal-network-subnet-cidr: 10.0.0.0/8}'),
      ['nodes.internalNetworkSubnetCidr: choosing addresses by subnet or network is not supported yet'],
    ],
    [
      file('', 'nodes: {internalVMNetworkName: ""}\nloadBalancer: {size: SMALL}\nroute: {routerPath: /x}'),
      ['loadBalancer: NSX-T load balancers are not served', 'route: NSX-T routes'],
    ],
    [
      file('', 'labels: k8s-zone'),
      ['vsphere.conf:7:9: labels: expected settings below it, got text of 8 characters'],
    ],
  ]
  const files = {
    '/etc/cloud/key.pem': '-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n',
    '/etc/cloud/broken.pem': `${CERTIFICATE}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
  }
  for (const [text, expected] of cases) {
    const name = text.slice(-60)
    const lines = await refusal(text, files)
    t.equal(lines.length, expected.length, `${name}: ${lines.join(' | ')}`)
    for (const words of expected)
      t.ok(
        lines.some((line) => line.includes(words)),
        `${words} in ${lines.join(' | ')}`,
      )
  }
})

await t.test('the file itself', async (t) => {
  t.match(await refusal(new Uint8Array([0xff, 0xfe, 0])), ['vsphere.conf: is no UTF-8 text'])
  t.match(await refusal(`# ${'x'.repeat(300_000)}`), ['vsphere.conf: has 300002 bytes, more than 262144'])
  for (const [code, words] of [
    ['ENOENT', 'does not exist: check the path'],
    ['EACCES', 'may not be read'],
    ['EISDIR', 'is a folder: name the file in it'],
    ['EIO', 'cannot be read (EIO)'],
  ]) {
    const readFile = () => Promise.reject(Object.assign(new Error('x'), { code }))
    await t.rejects(loadConfig({ path: 'c', readFile }), {
      name: 'ConfigError',
      file: 'c',
      problems: [
        {
          path: '',
          line: undefined,
          column: undefined,
          message: new RegExp(String(words).replaceAll(/[()]/g, '.')),
        },
      ],
    })
  }
  const bug = new TypeError('a bug, not a file')
  await t.rejects(loadConfig({ path: 'c', readFile: () => Promise.reject(bug) }), bug)
  t.same((await loaded(`\ufeff${file()}`.replaceAll('\n', '\r\n'))).vCenter, BASE, 'as Windows writes it')
})

await t.test('hostile files end soon', async (t) => {
  const bomb = Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`)
  bomb[0] = 'a0: &a0 [x]'
  const hostile: Record<string, string> = {
    bomb: bomb.join('\n'),
    'aliases in a list that is read': `${file('    datacenters: &d [a, *d]')}`,
    'many keys': Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n'),
    'many aliases': `global: &g {}\n${Array.from({ length: 15_000 }, (_, i) => `k${i}: *g`).join('\n')}`,
    'many braces': '{'.repeat(200_000),
  }
  for (const [name, text] of Object.entries(hostile)) {
    const start = performance.now()
    const lines = await refusal(text)
    t.ok(lines.length > 0 && lines.length <= 21, `${name}: ${lines.length} lines`)
    t.ok(performance.now() - start < 3000, `${name} took ${performance.now() - start} ms`)
  }
})

await t.test('no password is ever in an error or a warning', async (t) => {
  const marker = 'hunter2marker'
  const settings = [
    'server',
    'port',
    'user',
    'insecureFlag',
    'datacenters',
    'caFile',
    'thumbprint',
    'ipFamily',
  ]
  const shapes = [
    marker,
    `"${marker}`,
    `'${marker}`,
    `*${marker}`,
    `&${marker}`,
    `!${marker} x`,
    `@${marker}`,
    `%${marker}`,
  ]
  shapes.push(
    `${marker}: x`,
    `x: ${marker}`,
    `[${marker}`,
    `{a: ${marker}}`,
    `{${marker}: a}`,
    `|x ${marker}`,
    `"\\q${marker}"`,
  )
  shapes.push(
    `https://u:${marker}@vc.example.com/sdk`,
    `u:${marker}@vc`,
    `x\n${marker}`,
    `x\n    ${marker}`,
    `\`${marker}`,
  )
  const texts: string[] = []
  for (const value of shapes) {
    texts.push(
      file().replace('pw', value),
      file('', `global: {password: ${value}}`),
      file('', `nsxt: {password: ${value}}`),
    )
    // A password that has slipped into another setting is still one.
    for (const key of settings.filter((name) => name !== 'caFile')) texts.push(file(`    ${key}: ${value}`))
    texts.push(file(`    pasword: ${value}`))
    // In the place of a key at the top it is a key, not a value.
    if (!value.startsWith(`${marker}:`)) texts.push(value, `${value}\n${file()}`)
  }
  for (const lost of [
    `password:${marker}`,
    `password ${marker}`,
    `password=${marker}`,
    `password:\n${marker}`,
    `- ${marker}`,
  ]) {
    texts.push(file(`    ${lost}`), file('', lost), `${lost}\n`)
  }
  texts.push(`vcenter: {vc1: {server: a, user: b, password: c,${marker}}}`)
  let refused = 0
  for (const text of texts) {
    const said = await load(text).then(
      ({ warnings, config }) => [...warnings, String(config.vCenters[0]?.password)].join('\n'),
      (error: unknown) => {
        refused++
        return error instanceof ConfigError
          ? `${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`
          : String(error)
      },
    )
    t.notMatch(said, marker, `${text} -> ${said}`)
  }
  t.ok(refused > texts.length / 2, `${refused} of ${texts.length} texts are wrong`)
})

await t.test('files as users of the CPI have them', async (t) => {
  // The shape of its release manifests and tutorials: several vCenters, credentials in Secrets.
  const manifest = `# Global properties in this section will be used for all
global:
  port: 443
  # set insecureFlag to true if the vCenter uses a self-signed cert
  insecureFlag: true
  secretName: vsphere-cloud-secret
  secretNamespace: kube-system

vcenter:
  finance:
    server: 10.0.0.1
    user: a
    password: b
    datacenters:
      - west
      - east
  tenant:
    server: 1.2.3.4
    datacenters: [tenantdc]
    secretName: tenant-secret
    secretNamespace: kube-system

labels:
  region: k8s-region
  zone: k8s-zone
`
  t.strictSame(
    (await refusal(manifest)).map((line) => line.split(': ').slice(0, 3).join(': ').slice(0, 80)),
    [
      'vsphere.conf:6:3: global.secretName: credentials from a Secret are not supported',
      'vsphere.conf:7:3: global.secretNamespace: credentials from a Secret are not supp',
      'vsphere.conf:17:3: vcenter.tenant: several vCenters (finance, tenant) are not se',
      'vsphere.conf:17:3: vcenter.tenant.user: is missing',
      'vsphere.conf:17:3: vcenter.tenant.password: is missing',
      'vsphere.conf:20:5: vcenter.tenant.secretName: credentials from a Secret are not ',
      'vsphere.conf:21:5: vcenter.tenant.secretNamespace: credentials from a Secret are',
    ],
  )

  // What its Helm chart writes: an INI spelling in YAML, labels without a value, the server as the vCenter's name.
  const chart = `global:
  port: 443
  ca-file: ca.pem
  user: a
  password: b
vcenter:
  vc.example.com:
    server: vc.example.com
    datacenters:
      - dc
labels:
  region:
  zone: ""
`
  t.match(await loaded(chart), {
    vCenter: {
      name: 'vc.example.com',
      server: 'vc.example.com',
      port: 443,
      datacenters: ['dc'],
      trust: { kind: 'ca' },
    },
    labels: { zone: undefined, region: undefined },
    warnings: [],
  })

  // Global alone, with everything its tests put there.
  const global = `
global:
  server: 0.0.0.0
  port: 443
  user: user
  password: password
  insecureFlag: true
  datacenters:
    - us-west
  caFile: /some/path/to/a/ca.pem
`
  t.match(await loaded(global), {
    vCenter: { name: '0.0.0.0', server: '0.0.0.0', trust: { kind: 'insecure' }, datacenters: ['us-west'] },
    warnings: ['vsphere.conf:10:11: global.caFile: has no effect beside insecureFlag'],
  })
})
