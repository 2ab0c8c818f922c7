import t from 'tap'
import { loadConfig } from './load.ts'
import { CERTIFICATE } from './testing/certificate.ts'
import { BASE, file, load, loaded, noFolder, refusal } from './testing/load.ts'

await t.test('refused, in words that name the place and the next step', async (t) => {
  const cases: readonly [string, string[]][] = [
    // the file
    ['', ['vsphere.conf: is empty: write it as in "vcenter:']],
    ['# nothing\n---\n', ['vsphere.conf: is empty']],
    ['[Global]\nuser = "x"', ['vsphere.conf: vcenter: no vCenter: write']],
    [
      '; old\n\n[VirtualCenter "10.0.0.1"]\nuser = "x"',
      ['vsphere.conf:3:1: vcenter.10.0.0.1.password: is missing'],
    ],
    ['[Labels] # x', ['no vCenter']],
    [
      'hello',
      ['vsphere.conf:1:1: expected "global:", "vcenter:" and "labels:" at the top, got text of 5 characters'],
    ],
    [
      '- a\n- b',
      ['vsphere.conf:1:1: expected "global:", "vcenter:" and "labels:" at the top, got a list of 2 items'],
    ],
    ['a: 1\n---\nb: 2', ['vsphere.conf:2:1: a second document begins here']],
    [file().replace('pw', 'a: b'), ['vsphere.conf:5:15: this is not YAML: a value contains a colon']],
    [file().replace('pw', '"a'), ['this is not YAML: a closing quote or bracket']],
    [file().replace('pw', '@a'), ['vsphere.conf:5:15: a value cannot begin with this character: put']],
    [
      file().replace('user: ops', 'user: @ops').replace('pw', String.raw`"a\qb"`),
      [
        'vsphere.conf:4:11: a value cannot begin with this character',
        'vsphere.conf:5:17: this backslash means',
      ],
    ],
    [
      file('    port: a: b').replace('pw', 'c: d: e'),
      [
        'vsphere.conf:5:15: this is not YAML: a value contains',
        'vsphere.conf:6:11: this is not YAML: a value',
      ],
    ],
    [
      file().replace('pw', '*a'),
      ['vsphere.conf:5:15: this "*" refers to an anchor that is not defined above'],
    ],
    [
      file('    prot: 1').replace('pw', '*a').replace('user: ops', 'port: ops'),
      [
        'vsphere.conf:4:11: vcenter.vc1.port: expected a number from 1 to 65535',
        'vsphere.conf:5:15: this "*" refers',
        'vsphere.conf:6:5: vcenter.vc1.prot: unknown key: did you mean "port"?',
      ],
    ],
    [
      file('    prot: 1', 'lables: {}\nhunter: 2')
        .replace('pw', '@a')
        .replace(/user: .*/, String.raw`user: "\q"`),
      [
        'vsphere.conf:4:12: this backslash means nothing',
        'vsphere.conf:5:15: a value cannot begin',
        'vsphere.conf:6:5: vcenter.vc1.prot: unknown key: did you mean "port"?',
        'vsphere.conf:7:1: lables: unknown key: did you mean "labels"?',
        'vsphere.conf:8:1: ?: unknown key: known here are',
      ],
    ],
    [
      file('', 'lables: {}').replace('pw', 'c: d'),
      ['vsphere.conf:5:15: this is not YAML: a value contains', 'vsphere.conf:7:1: lables: unknown key'],
    ],
    [file().replace('pw', 'p\0w'), ['vsphere.conf:5:16: this is a control character: check that']],
    ['[Global]\nuser = a\x01', ['vsphere.conf:2:9: this is a control character']],
    [file().replace(/./gs, '$&\0'), ['vsphere.conf:1:2: this is a control character']],
    [file().replace('pw', '!a b'), ['vsphere.conf:5:15: tags (!...) and directives']],
    [file().replace('pw', '!!binary aGk='), ['tags (!...)']],
    [file().replace('pw', String.raw`"a\qb"`), ['this backslash means nothing in double quotes']],
    [file().replace('    user', '\tuser'), ['vsphere.conf:4:1: this is not YAML: a tab is used']],
    // nothing of the lines below, which are as they should be
    [
      file('    port: 1').replace('    user', '\tuser'),
      ['vsphere.conf:4:1: this is not YAML: a tab is used to indent; use spaces'],
    ],
    [file().replace('password: pw', 'password:pw'), ['the colon and space after a key is missing']],
    ['['.repeat(20_000), ['this is nested too deep']],
    ['? [a]\n: b', ['vsphere.conf:1:1: a key here is not plain text']],
    [file('    <<: {port: 1}'), ['vsphere.conf:6:5: merging maps with "<<" is not supported']],
    // keys
    [file('    prot: 1'), ['vsphere.conf:6:5: vcenter.vc1.prot: unknown key: did you mean "port"?']],
    [file('', 'vcentre: {}'), ['vsphere.conf:7:1: vcentre: unknown key: did you mean "vcenter"?']],
    // what is misspelled is not missing as well
    ['vcentre: {}', ['vsphere.conf:1:1: vcentre: unknown key: did you mean "vcenter"?']],
    [file().replace('server', 'sever'), ['vcenter.vc1.sever: unknown key: did you mean "server"?']],
    [
      file().replace('server', 'sever').replace('user', 'usr'),
      ['vcenter.vc1.sever: unknown key', 'vcenter.vc1.usr: unknown key'],
    ],
    [
      'globl: {user: u, password: p}\nvcenter: {vc1: {}}',
      ['vsphere.conf:1:1: globl: unknown key: did you mean "global"?', 'vcenter.vc1.server: is missing'],
    ],
    [
      file('    secretsDirectory: /x'),
      ['vcenter.vc1.secretsDirectory: unknown key: it belongs under "global"'],
    ],
    [file('', 'zone: z'), ['vsphere.conf:7:1: zone: unknown key: it belongs under "labels"']],
    [
      file('', 'storage: z'),
      ['storage: unknown key: known here are global, vcenter, labels, identity, lifecycle, topology, nodes'],
    ],
    [
      file('    port: 1\n    port: 2'),
      ['vsphere.conf:7:5: vcenter.vc1.port: is given twice, first on line 6'],
    ],
    [
      file('    caFile: ca.pem\n    ca-file: ca.pem'),
      ['vsphere.conf:7:5: vcenter.vc1.caFile: is given twice'],
    ],
    [file('  vc1: {server: a}'), ['vsphere.conf:6:3: vcenter.vc1: is given twice: keep one']],
    [
      file().replace('vc1', String.raw`"a\nb\e[31m"`).replace('user', 'usr'),
      ['vsphere.conf:4:5: vcenter.a\ufffdb\ufffd[31m.usr: unknown key'],
    ],
    // vCenters
    ['global: {user: u}', ['vsphere.conf: vcenter: no vCenter: write']],
    ['labels: {zone: k8s-zone}', ['vsphere.conf: vcenter: no vCenter: write']],
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
        'vsphere.conf:2:3: vcenter: "server" appears where a vCenter\'s name',
        'vcenter: "user"',
        'vcenter: "password"',
      ],
    ],
    [
      'vcenter:\n  vc1:\n',
      [
        'vsphere.conf:2:3: vcenter.vc1.server: is missing: write the host',
        'user: is missing',
        'password: is missing',
      ],
    ],
    [
      'vcenter: {vc1: {server: vc.example.com, user: u}}',
      ['vsphere.conf:1:11: vcenter.vc1.password: is missing'],
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
    // identity
    [file('', 'identify: {}'), ['vsphere.conf:7:1: identify: unknown key: did you mean "identity"?']],
    [file('', 'require: proven'), ['vsphere.conf:7:1: require: unknown key: it belongs under "identity"']],
    [file('', 'identity: {requires: proven}'), ['identity.requires: unknown key: did you mean "require"?']],
    [file('', 'identity: proven'), ['identity: expected settings below it, got text of 6 characters']],
    [
      file('', 'identity: {require: proved}'),
      [
        'vsphere.conf:7:21: identity.require: expected asserted, reported, proven, got text of 6 characters: did you mean "proven"?',
      ],
    ],
    [file('', 'identity: {require: }'), ['identity.require: is empty: write a value, or remove it']],
    [file('', 'identity: {require: ""}'), ['identity.require: is empty: write a value, or remove it']],
    [file('', 'identity: {require: []}'), ['identity.require: is empty: write a value, or remove it']],
    [file('', 'identity: {require: [proven]}'), ['identity.require: expected text, got a list of 1 item']],
    [file('', 'identity: {require: strict}'), ['identity.require: expected asserted, reported, proven, got']],
    [
      file('', 'identity:\n  exempt: kubernetes.io/os windows'),
      [
        'vsphere.conf:8:11: identity.exempt: expected a label selector as "kubectl -l" takes it: at character 18 of it, one of',
      ],
    ],
    [
      file('', 'identity: {exempt: " "}'),
      ['at character 2 of it, a label (an empty selector would pick every'],
    ],
    [
      file('', 'identity: {exempt: {kubernetes.io/os: windows}}'),
      ['vsphere.conf:7:20: identity.exempt: expected text, got a map of 1 key'],
    ],
    [file('', 'identity:\n  exempt: !windows'), ['vsphere.conf:8:11: tags (!...)']],
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
    [file(`    thumbprint: ${'ab'.repeat(20)}, 42:0E`), ['number 2 of 2 is wrong: expected the SHA-1']],
    [file('    thumbprint: ","'), ['got text of 1 character']],
    [file('    thumbprint: sha1-zz'), ['got text of 7 characters: get it with']],
    [
      file('    caFile: gone.pem'),
      ['vcenter.vc1.caFile: /etc/cloud/gone.pem does not exist: check the path'],
    ],
    [file('    caFile: key.pem'), ['/etc/cloud/key.pem contains a private key instead of a PEM certificate']],
    [
      file('    caFile: text.pem'),
      [
        'vcenter.vc1.caFile: /etc/cloud/text.pem contains 22 characters instead of a PEM certificate: expected "-----BEGIN CERTIFICATE-----"',
      ],
    ],
    [
      file('    caFile: broken.pem'),
      ['/etc/cloud/broken.pem contains certificate 2 of 2 that cannot be read'],
    ],
    [
      file('    caFile: |\n      -----BEGIN CERTIFICATE-----'),
      ['vcenter.vc1.caFile: expected a path, got PEM text'],
    ],
    [
      file().replace('ops@vsphere.local', '"-----BEGIN CERTIFICATE-----"'),
      ['vcenter.vc1.user: a certificate as the user is not supported yet'],
    ],
    [file('    ipFamily: [ipv5]'), ['vcenter.vc1.ipFamily: expected ipv4, ipv6 or a list of both']],
    // names that go into requests
    ...['../nodes', 'a/b', 'A', 'a..b', '-a', 'a'.repeat(254)].map((name): [string, string[]] => [
      file('', `global: {secretName: '${name}', secretNamespace: n}`),
      ['global.secretName: expected the name of a Secret, of lower-case letters'],
    ]),
    [
      file('    secretName: s\n    secretNamespace: n.m'),
      ['vcenter.vc1.secretNamespace: expected the name of a namespace'],
    ],
    [
      file('', 'nodes: {internal-network-subnet-cidr: 10.0.0.0/8 172.16.0.0/12}'),
      ['nodes.internalNetworkSubnetCidr: expected a subnet such as 10.0.0.0/8'],
    ],
    [
      file('', 'labels: k8s-zone'),
      ['vsphere.conf:7:9: labels: expected settings below it, got text of 8 characters'],
    ],
  ]
  const files = {
    '/etc/cloud/text.pem': 'this is no certificate',
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
  t.match(await refusal(new Uint8Array([0xff, 0xfe, 0])), ['vsphere.conf: is not UTF-8 text'])
  t.match(await refusal(`# ${'x'.repeat(300_000)}`), ['vsphere.conf: has more than 262144 bytes'])
  for (const [code, words] of [
    ['ENOENT', 'does not exist: check the path'],
    ['EACCES', 'permission denied'],
    ['EISDIR', 'is a folder: name the file in it'],
    ['EFBIG', 'has more than 262144 bytes: check that it is the right file'],
    ['EFTYPE', 'is not a regular file: name one, not a pipe or a device'],
    ['EIO', 'cannot be read (EIO)'],
  ]) {
    const readFile = () => Promise.reject(Object.assign(new Error('x'), { code }))
    await t.rejects(loadConfig({ path: 'c', readFile, readFolder: noFolder }), {
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
  await t.rejects(loadConfig({ path: 'c', readFile: () => Promise.reject(bug), readFolder: noFolder }), bug)
  t.same((await loaded(`\ufeff${file()}`.replaceAll('\n', '\r\n'))).vCenter, BASE, 'as Windows writes it')
  t.same((await loaded(file().replaceAll('\n', '\r'))).vCenter, BASE, 'with carriage returns alone')
})

// What took more than its length would not end before the whole file is given up.
await t.test('hostile files end', async (t) => {
  const bomb = Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`)
  bomb[0] = 'a0: &a0 [x]'
  const hostile: Record<string, string> = {
    bomb: bomb.join('\n'),
    'aliases in a list that is read': `${file('    datacenters: &d [a, *d]')}`,
    'many keys': Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n'),
    'many aliases': `global: &g {}\n${Array.from({ length: 15_000 }, (_, i) => `k${i}: *g`).join('\n')}`,
    'many braces': '{'.repeat(200_000),
    'many values that cannot be': 'a: @\n'.repeat(50_000),
  }
  for (const [name, text] of Object.entries(hostile)) {
    const lines = await refusal(text)
    t.ok(lines.length > 0 && lines.length <= 21, `${name}: ${lines.length} lines`)
  }
})

t.test('an invisible character is named in the error about its line', async (t) => {
  const space = '\u00a0'
  const named = /; this line has a no-break space \(U\+00A0\): type a space there, or nothing$/
  for (const text of [
    file(`    port:${space}443`),
    file(`    port${space}: 443`),
    file(`${space}   port: 443`),
    file(`    port: 443${space}`),
    `[Global]\n${space}user = u`,
    `[Global]\nuser${space}= u`,
    `[Global]${space}\nuser = u`,
  ])
    t.match((await refusal(text)).join('\n'), named, JSON.stringify(text))
  t.match(await refusal(file('    port: \u200b443')), [/this line has an invisible character \(U\+200B\)/])
})

t.test('white space at the edge of a value is part of it, and draws a warning', async (t) => {
  const { warnings } = await loaded(
    'vcenter:\n  vc1:\n    server: a\n    user: u\n    password: |\n      hunter\n',
  )
  t.match(warnings, [/vc1\.password: begins or ends with a newline, which is a part of it: remove it/])
  const { warnings: given } = await load(
    'vcenter: {vc1: {server: a}}',
    {},
    { VSPHERE_USER: 'u', VSPHERE_PASSWORD: 'p\r\n' },
  )
  t.ok(given.some((warning) => /VSPHERE_PASSWORD: begins or ends with a newline/.test(warning)))
  t.notMatch(warnings.join(), /hunter/)
})

t.test('an invisible character at the edge of a value is part of it, and draws a warning', async (t) => {
  const { vCenter, warnings } = await loaded(file().replace('pw', 'pw\u00a0'))
  t.equal(vCenter?.password, 'pw\u00a0')
  t.strictSame(warnings, [
    'vsphere.conf:5:15: vcenter.vc1.password: begins or ends with a no-break space (U+00A0), which is a part of it: remove it unless you want that',
  ])
})

t.test('a section that is not read because of a character before it draws one error', async (t) => {
  for (const before of ['\u00a0', '\u200b', '.']) {
    const lines = await refusal(
      `${before}[Global]\nuser = u\npassword = p\n[VirtualCenter "vc"]\ndatacenters = a\n`,
    )
    t.equal(lines.length, 1, lines.join('\n'))
    t.match(lines, [/^vsphere\.conf:1:1: .*expected /])
  }
})

t.test('one within a name, or a list of them, draws a warning too', async (t) => {
  const { vCenter, warnings } = await loaded(
    `${file('    datacenters: [a, "DC\u00a01"]')}labels: {zone: "k8s\u200bzone"}\n`,
  )
  t.same(vCenter?.datacenters, ['a', 'DC\u00a01'])
  t.match(warnings, [
    /vc1\.datacenters: contains a no-break space \(U\+00A0\), which is a part of it: remove it/,
    /labels\.zone: contains an invisible character \(U\+200B\)/,
  ])
})

t.test('where the source of a credential is refused, user and password are not called missing', async (t) => {
  const secret = (name: string, namespace: string) => `secretName: ${name}\n  secretNamespace: ${namespace}\n`
  const vCenter = 'vcenter:\n  vc1:\n    server: vc.example.com\n'
  for (const [text, path] of [
    [`${vCenter}    ${secret('Bad_Name', 'a').replace('\n ', '\n   ')}`, 'vcenter.vc1.secretName'],
    [`global:\n  ${secret('Bad_Name', 'a')}${vCenter}`, 'global.secretName'],
    [`global:\n  ${secret('a', 'Bad_Name')}${vCenter}`, 'global.secretNamespace'],
    [`global:\n  ${secret('a', 'b').replace('space:', 'spce:')}${vCenter}`, 'global.secretNamespce'],
  ] as const) {
    const lines = await refusal(text)
    t.equal(lines.length, 1, lines.join('\n'))
    t.match(lines, [new RegExp(`: ${path}: `)])
  }
  for (const environment of [
    { VSPHERE_VCENTER: 'vc.example.com', VSPHERE_SECRET_NAME: 'Bad_Name', VSPHERE_SECRET_NAMESPACE: 'a' },
    { VSPHERE_VCENTER: 'vc.example.com', VSPHERE_USER: '-----BEGIN', VSPHERE_PASSWORD: 'a' },
  ]) {
    const lines = await refusal('global: {port: 443}', {}, environment)
    t.equal(lines.length, 1, lines.join('\n'))
  }
})

t.test("settings of the in-tree provider's section Workspace under Global have no effect", async (t) => {
  const text =
    '[Global]\nuser = u\npassword = p\ndatastore = ds\ndefault-datastore = ds\nfolder = f\nresourcepool-path = r\n'
  const { warnings } = await loaded(`${text}[VirtualCenter "vc.example.com"]`)
  t.match(warnings, [
    /global\.datastore: has no effect because it is for the former in-tree provider/,
    /global\.defaultDatastore: has no effect because it is for the former in-tree provider/,
    /folder/,
    /resourcepoolPath/,
  ])
})
