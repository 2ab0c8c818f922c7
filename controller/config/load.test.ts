import t from 'tap'
import { CERTIFICATE } from './testing/certificate.ts'
import { BASE, file, load, loaded } from './testing/load.ts'

/** A label that no kubelet may set. */
const FIRM = 'example.com.node-restriction.kubernetes.io/no-agent'
const SHA1 = '42:0E:3F:74:EA:84:F9:A2:77:36:61:06:BB:5D:BF:6B:00:11:22:33'

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
      { trust: { kind: 'thumbprint', thumbprints: ['420e3f74ea84f9a277366106bb5dbf6b00112233'] } },
    ],
    [`    thumbprint: ${'ab'.repeat(32)}`, { trust: { kind: 'thumbprint', thumbprints: ['ab'.repeat(32)] } }],
    [
      `    thumbprint: ${'AB'.repeat(32)}, ${SHA1},${'ab'.repeat(32)},`,
      {
        trust: {
          kind: 'thumbprint',
          thumbprints: ['ab'.repeat(32), '420e3f74ea84f9a277366106bb5dbf6b00112233'],
        },
      },
    ],
    [
      `    thumbprint: ['${'ab'.repeat(32)}', ${'cd'.repeat(20)}]`,
      { trust: { kind: 'thumbprint', thumbprints: ['ab'.repeat(32), 'cd'.repeat(20)] } },
    ],
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
    const { warnings, ...rest } = await loaded(file(settings))
    t.same(
      rest,
      {
        labels: { zone: undefined, region: undefined },
        identity: { require: 'reported', exempt: undefined, requireAllVCenters: true },
        vCenter: { ...BASE, ...expected },
      },
      settings,
    )
    // Its warning is held below.
    if (rest.vCenter?.trust.kind !== 'insecure') t.same(warnings, [], settings)
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
    ['|\n      block', 'block\n'],
    [String.raw`"newline\n"`, 'newline\n'],
    [`'!x=y;'`, '!x=y;'],
    ['=x', '=x'],
    ['x #y', 'x'],
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
  const trust = { kind: 'thumbprint', thumbprints: ['420e3f74ea84f9a277366106bb5dbf6b00112233'] }
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

await t.test('how much a Node must prove', async (t) => {
  const cases: readonly [string, string, string | undefined][] = [
    ['identity:', 'reported', undefined],
    ['identity: {require: proven}', 'proven', undefined],
    ['identity: {require: Reported}', 'reported', undefined],
    ['identity:\n  exempt: ""', 'reported', undefined],
    ['identity: {exempt: []}', 'reported', undefined],
    ['Identity: {REQUIRE: proven}', 'proven', undefined],
    [`identity:\n  exempt: ${FIRM}=true  # no agent`, 'reported', `${FIRM}=true`],
    [`identity:\n  require: proven\n  exempt: ${FIRM} in (a, b)`, 'proven', `${FIRM} in (a, b)`],
    [`identity:\n  exempt: kubernetes.io/os=windows,${FIRM}`, 'reported', `kubernetes.io/os=windows,${FIRM}`],
    ['identity:\n  exempt: node-role.kubernetes.io/edge', 'reported', 'node-role.kubernetes.io/edge'],
  ]
  for (const [rest, require, exempt] of cases) {
    const { identity, warnings } = await loaded(file('', rest))
    t.equal(identity.require, require, rest)
    t.equal(identity.exempt?.text, exempt, rest)
    t.same(warnings, [], rest)
  }
  const { identity } = await loaded(file('', `identity: {exempt: ${FIRM}=true}`))
  t.same(identity.exempt?.requirements, [{ key: FIRM, operator: 'in', values: ['true'] }])
  const heedless = await loaded(file('', 'identity: {requireAllVCenters: false}'))
  t.same(heedless.identity, { require: 'reported', exempt: undefined, requireAllVCenters: false })
})

await t.test('accepted with a warning', async (t) => {
  const cases: readonly [string, string[]][] = [
    [
      '    soapRoundtripCount: 3',
      ['vsphere.conf:6:5: vcenter.vc1.soapRoundtripCount: has no effect because calls'],
    ],
    ['global: {apiDisable: true, api-binding: ":43001"}', ['global.apiDisable', 'global.apiBinding']],
    ['global:\n  service-account: ccm', ['global.serviceAccount: has no effect']],
    ['nsxt: {user: a, password: b}', ['vsphere.conf:6:1: nsxt: has no effect']],
    [
      'global: {insecureFlag: true}',
      ['vsphere.conf:6:24: global.insecureFlag: no certificate is checked, so anyone in between'],
    ],
    [
      'identity:\n  require: asserted',
      ['vsphere.conf:7:12: identity.require: is for migration only, because'],
    ],
    [
      'identity:\n  requireAllVCenters: false',
      ['vsphere.conf:7:23: identity.requireAllVCenters: false lets anyone who can give a VM the UUID'],
    ],
    ['identity: {requireAllVCenters: true}', []],
    [
      `identity: {require: asserted, exempt: ${FIRM}}`,
      ['identity.require: is for migration', 'identity.exempt: has no effect with "require: asserted"'],
    ],
    ...[
      'kubernetes.io/os=windows',
      'example.com/no-agent',
      'kubernetes.io/os=windows,node.kubernetes.io/instance-type in (a)',
      // Every Node is picked at its registration.
      `"!${FIRM}"`,
      `${FIRM}!=true`,
      `${FIRM} notin (true),kubernetes.io/os=windows`,
    ].map((selector): [string, string[]] => [
      `identity:\n  exempt: ${selector}`,
      ['vsphere.conf:7:11: identity.exempt: selects by labels that a kubelet can set on its own Node'],
    ]),
    [
      '    insecureFlag: true\n    caFile: gone.pem',
      [
        'vcenter.vc1.insecureFlag: no certificate',
        'vsphere.conf:7:13: vcenter.vc1.caFile: has no effect because insecureFlag',
      ],
    ],
    [
      '    insecureFlag: true\n    thumbprint: x',
      [
        'vcenter.vc1.insecureFlag: no certificate',
        'vcenter.vc1.thumbprint: has no effect because insecureFlag',
      ],
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
  const { config, warnings } = await load(manifest)
  const secret = (name: string) => ({ kind: 'secret', namespace: 'kube-system', name })
  t.same(config.credentials, { finance: secret('vsphere-cloud-secret'), tenant: secret('tenant-secret') })
  for (const { user, password, noCredential } of config.vCenters)
    t.same([user, password.reveal(), noCredential], ['', '', { state: 'pending' }])
  t.same(
    warnings.map((line) => line.replace('/etc/cloud/', '')),
    [
      "vsphere.conf:5:17: global.insecureFlag: no certificate is checked, so anyone in between gets the password: configure vCenter's thumbprint, or its CA as caFile, instead",
      'vsphere.conf:12:11: vcenter.finance.user: has no effect because the Secret or folder is used: remove it here',
      'vsphere.conf:13:15: vcenter.finance.password: has no effect because the Secret or folder is used: remove it here',
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
    warnings: [
      'vsphere.conf:7:17: global.insecureFlag: no certificate is checked',
      'vsphere.conf:10:11: global.caFile: has no effect because insecureFlag',
    ],
  })
})
