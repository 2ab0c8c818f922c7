import t from 'tap'
import { Findings } from './findings.ts'
import { looksLikeINI, readINI } from './ini.ts'
import { load, refusal } from './testing/load.ts'
import type { ConfigTree } from './tree.ts'

/** The file's settings, one line each, by path, with their place. */
function read(text: string): { settings: string[]; problems: string[] } {
  const findings = new Findings()
  const settings: string[] = []
  const walk = (tree: ConfigTree, path: string) => {
    if (tree.kind === 'map') for (const { key, value } of tree.entries) walk(value, `${path}/${key}`)
    if (tree.kind === 'text')
      settings.push(
        `${tree.at.line}:${tree.at.column} ${path} ${tree.bare ? 'bare' : JSON.stringify(tree.text)}`,
      )
  }
  walk(readINI(text, findings), '')
  return {
    settings,
    problems: findings.problems.map(({ line, column, message }) => `${line}:${column}: ${message}`),
  }
}

t.test('values as gcfg reads them', async (t) => {
  const cases: readonly [string, string][] = [
    ['a', 'a'],
    ['', ''],
    ['""', ''],
    ['  a b\t ', 'a b'],
    ['a;b', 'a'],
    ['a #b', 'a'],
    ['"a;b#c" ; d', 'a;b#c'],
    ['" a "', ' a '],
    ['a" b "c', 'a b c'],
    ['a "b"', 'a b'],
    [String.raw`"\\ \" \n \t"`, '\\ " \n \t'],
    [String.raw`{\"a\": 1}`, '{"a": 1}'],
    ['one\\\ntwo', 'onetwo'],
    ['one \\\n two', 'one  two'],
    ['one \\\r\n two\r', 'one  two'],
    ["'a'", "'a'"],
    ['a=b', 'a=b'],
    ['null', 'null'],
    ['[x]', '[x]'],
    ['pässwörd', 'pässwörd'],
    ['a\rb', 'ab'],
  ]
  for (const [written, text] of cases) {
    t.strictSame(
      read(`[s]\nk = ${written}\nl = x`).settings.map((line) => line.split(' ').slice(1).join(' ')),
      [`/s/k ${JSON.stringify(text)}`, '/s/l "x"'],
      written,
    )
  }
})

t.test('sections, keys and their places', async (t) => {
  const text = `; comment
[Global] # comment
user=a ; comment
 insecure-flag
[ VirtualCenter	"10.0.0.1" ]
  Password   =   "b"
port = \\
  443
[VirtualCenter "a \\"b\\" \\\\c"]
x_y = 1
[global]
user = c
[VirtualCenter "10.0.0.1"]
ca-file = d`
  t.strictSame(read(text), {
    settings: [
      '3:6 /Global/user "a"',
      '4:2 /Global/insecure-flag bare',
      '12:8 /Global/user "c"',
      '6:18 /VirtualCenter/10.0.0.1/Password "b"',
      '7:8 /VirtualCenter/10.0.0.1/port "  443"',
      '14:11 /VirtualCenter/10.0.0.1/ca-file "d"',
      '10:7 /VirtualCenter/a "b" \\c/x_y "1"',
    ],
    problems: [],
  })
})

t.test('all that is wrong is told at once, each with its place', async (t) => {
  const text = `key = a
other = b
[]
[Global
[Global] x
[Global "a]
[Global ""]
[Global]
= a
user a
user = "a
user = "\\x"
user = a\\b
port = 1 \\
 "2" \\c
last = 1`
  const { problems, settings } = read(text)
  t.strictSame(
    problems.map((line) => line.replace('this is not INI, ', '').slice(0, 60)),
    [
      '1:1: a section is missing above the first key: write [Global]',
      '3:2: expected the name of a section after this bracket, such',
      '4:8: a closing bracket is missing here: write [SECTION] or [S',
      '5:10: a section header must be alone on its line: start a new',
      '6:9: a closing quote is missing in this line',
      '7:1: the name in quotes is empty: write one, such as [Virtual',
      '9:1: expected a key, a [SECTION] or a comment',
      '10:6: expected "=" after the key: write "key = value" on each',
      '11:8: a closing quote is missing in this line',
      '12:9: this backslash means nothing in double quotes: write it',
      '13:9: without quotes, a backslash may only come before a quot',
      '15:6: without quotes, a backslash may only come before a quot',
    ].map((line) => line.slice(0, 60 - 'this is not INI, '.length + 17)),
  )
  t.strictSame(settings, ['16:8 /Global/last "1"'])
})

t.test('YAML below a line of INI is told once', async (t) => {
  t.strictSame(read('[Global]\nvcenter:\n  main:\n    server: a\nuser = "b"').problems, [
    '2:8: this is not INI, a colon is where "=" was expected: write "key = value" on each line, or, if the file is meant to be YAML, take out the lines of INI, such as [SECTION]',
  ])
})

t.test('which files are taken for INI', async (t) => {
  for (const text of [
    '[Global]',
    '# a\n; b\n\n [ Global ] ; c',
    '[VirtualCenter "a"]',
    '[VirtualCenter a]',
    '[Global',
    '[a.b]',
    'user = a',
    'user=a',
  ])
    t.equal(looksLikeINI(text), true, text)
  for (const text of [
    '',
    'a: b',
    '{"a": 1}',
    '[a, b]',
    '[abc ,d]',
    '[a: b]',
    '["a"]',
    '- a',
    'a: b = c',
    'hello',
  ])
    t.equal(looksLikeINI(text), false, text)
})

const GLOBAL = '[Global]\nuser = a\npassword = b\n'

t.test('what a file in INI becomes', async (t) => {
  const { config, warnings } = await load(`[Global]
user = ops@vsphere.local
password = "p;w"
insecure-flag
[VirtualCenter "10.0.0.1"]
[VirtualCenter "tenant"]
server = vc.example.com
port = 1443
port = 2443
datacenters = a, b
[Labels]
zone = k8s-zone
[Identity]
require = proven
[Lifecycle]
absent-for = 10m
`)
  t.match(config, {
    vCenters: [
      { name: '10.0.0.1', server: '10.0.0.1', port: 443, trust: { kind: 'insecure' }, datacenters: [] },
      { name: 'tenant', server: 'vc.example.com', port: 2443, datacenters: ['a', 'b'] },
    ],
    labels: { zone: 'k8s-zone', region: undefined },
    identity: { require: 'proven' },
    lifecycle: { absentFor: 600_000 },
  })
  t.equal(config.vCenters[0]?.password.reveal(), 'p;w')
  t.match(warnings, [
    '/etc/cloud/vsphere.conf:9:1: vcenter.tenant.port: is given twice, so line 8 has no effect: keep one',
    '/etc/cloud/vsphere.conf:4:1: global.insecureFlag: no certificate is checked',
  ])
  t.equal(warnings.length, 2)
})

t.test('what is refused of INI', async (t) => {
  const cases: readonly [string, string[]][] = [
    [
      `${GLOBAL}[VirtualCenter "a"]\nprot = 1`,
      ['vsphere.conf:5:1: vcenter.a.prot: unknown key: did you mean "port"?'],
    ],
    [
      `${GLOBAL}[VirtualCentre "a"]`,
      ['vsphere.conf:4:1: VirtualCentre: unknown key: did you mean "virtualCenter"?'],
    ],
    [
      `${GLOBAL}[VirtualCenter]\nserver = a`,
      ['vcenter: "server" belongs to no vCenter: write [VirtualCenter "NAME"] above it'],
    ],
    [
      `${GLOBAL}[VirtualCenter "a b"]`,
      ['vsphere.conf:4:1: vcenter.a b.server: expected a host name or IP address, got text of 3 characters'],
    ],
    [
      `${GLOBAL}[VirtualCenter "https://vc.example.com"]`,
      ['got one with a scheme: write "server: vc.example.com"'],
    ],
    [
      `${GLOBAL}port\n[VirtualCenter "a"]`,
      ['vsphere.conf:4:1: global.port: has no value: write "key = value"'],
    ],
    [`${GLOBAL}hunter2\n[VirtualCenter "a"]`, ['vsphere.conf:4:1: global.?: unknown key']],
    [
      `${GLOBAL}[VirtualCenter "a"]\n[vcenter "b"]`,
      ['vsphere.conf:5:1: vcenter: is given twice, first on line 4: keep one'],
    ],
    // A password that an editor has wrapped.
    [
      `${GLOBAL}password =\n  hunter2 =\n[VirtualCenter "a"]`,
      ['vsphere.conf:5:3: global.?: unknown key', 'vcenter.a.password: is missing'],
    ],
    [`${GLOBAL}[Global "a"]\n[VirtualCenter "a"]`, ['global.a: unknown key']],
    // After a mistake a line may be one of a password, and what is missing may be what could not be read.
    [
      '[Globl]\n[VirtualCenter "a"]\nuser = "b\nprot = 1\nhunter = 2\n[Global\nprot = 1',
      [
        'vsphere.conf:1:1: Globl: unknown key: did you mean "global"?',
        'vsphere.conf:3:8: this is not INI, a closing quote is missing',
        'vsphere.conf:4:1: vcenter.a.prot: unknown key: did you mean "port"?',
        'vsphere.conf:5:1: vcenter.a.?: unknown key',
        'vsphere.conf:6:8: this is not INI, a closing bracket is missing',
      ],
    ],
    [
      '[VirtualCenter]\npassword = "a\nhunter = 2',
      [
        'vsphere.conf:2:12: this is not INI, a closing quote is missing',
        'vsphere.conf:3:10: vcenter.?: expected settings below it',
      ],
    ],
  ]
  for (const [text, expected] of cases) {
    const lines = await refusal(text)
    t.equal(lines.length, expected.length, `${text}: ${lines.join(' | ')}`)
    for (const words of expected)
      t.ok(
        lines.some((line) => line.includes(words)),
        `${words} in ${lines.join(' | ')}`,
      )
  }
})

t.test('a large file in INI ends', async (t) => {
  const text = `${GLOBAL}[VirtualCenter "a"]\n${'x = y\n'.repeat(25_000)}`
  const lines = await refusal(text)
  t.ok(lines.length <= 21)
})
