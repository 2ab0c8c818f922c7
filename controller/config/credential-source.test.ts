import t from 'tap'
import { file, load } from './testing/load.ts'

const FILES = { '/etc/cloud/secrets/vc.example.com.password': 'p' }
const BARE = 'vcenter:\n  vc1:\n    server: vc.example.com\n'
const secret = (name: string) => ({ kind: 'secret', namespace: 'n', name })
const folder = (path: string) => ({ kind: 'directory', path })

t.test('where user and password are, and what is said of it', async (t) => {
  const cases: readonly [string, string, Record<string, string>, object | undefined, readonly string[]][] = [
    ['in the file', file(), {}, undefined, []],
    ['in the file, though the folder of the CPI is there', file(), FILES, undefined, []],
    ['in a Secret for all', `${BARE}global: {secretName: s, secretNamespace: n}`, {}, secret('s'), []],
    [
      'in one of its own',
      `${BARE}    secretName: own\n    secretNamespace: n\nglobal: {secretName: s, secretNamespace: n}`,
      {},
      secret('own'),
      [],
    ],
    [
      'in one that global.server names',
      'global: {server: vc1, secretName: s, secretNamespace: n}',
      {},
      secret('s'),
      [],
    ],
    ['in a folder', `${BARE}global: {secretsDirectory: /run/x}`, {}, folder('/run/x'), []],
    ['beside the file', `${BARE}global: {secretsDirectory: creds}`, {}, folder('/etc/cloud/creds'), []],
    [
      "in the CPI's folder, where nothing else is written",
      BARE,
      FILES,
      folder('/etc/cloud/secrets'),
      ['vsphere.conf:2:3: vcenter.vc1: has no user and password, so they are read from /etc/cloud/secrets'],
    ],
    [
      'in a Secret, though that folder is there',
      `${BARE}global: {secretName: s, secretNamespace: n}`,
      FILES,
      secret('s'),
      [],
    ],
    [
      'beside what the file says for one',
      file('    secretName: s\n    secretNamespace: n'),
      {},
      secret('s'),
      [
        'vcenter.vc1.user: has no effect because the Secret or folder is used',
        'vcenter.vc1.password: has no effect',
      ],
    ],
    [
      'beside what it says for all',
      `${BARE}global: {secretsDirectory: /x, user: u, password: p}`,
      {},
      folder('/x'),
      ['global.user: has no effect', 'global.password: has no effect'],
    ],
    [
      'half a name is none',
      file('    secretName: s', 'global: {secretNamespace: n}'),
      {},
      undefined,
      [
        'global.secretNamespace: has no effect without secretName',
        'vcenter.vc1.secretName: has no effect without secretNamespace',
      ],
    ],
    [
      'a Secret and a folder are neither',
      file('', 'global: {secretName: s, secretNamespace: n, secretsDirectory: /x}'),
      {},
      undefined,
      ['global.secretsDirectory: has no effect together with global.secretName, and neither has that'],
    ],
  ]
  for (const [what, text, files, expected, said] of cases) {
    const { config, warnings } = await load(text, files)
    t.same(Object.values(config.credentials), expected === undefined ? [] : [expected], what)
    t.equal(warnings.length, said.length, `${what}: ${warnings.join(' | ')}`)
    for (const [index, words] of said.entries()) t.ok(warnings[index]?.includes(words), `${warnings[index]}`)
  }
})

t.test('what stands under global is not idle while one vCenter needs it', async (t) => {
  const { config, warnings } = await load(
    `${BARE}  vc2: {server: vc2, secretName: s, secretNamespace: n}\nglobal: {user: u, password: p}`,
  )
  t.match(config.vCenters, [
    { name: 'vc1', user: 'u' },
    { name: 'vc2', user: '' },
  ])
  t.same(warnings, [])
})
