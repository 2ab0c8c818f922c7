/** The CPI's own readers against ours: on files as users have them, on files made up by a seed, variables and Secrets. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  GLOBAL_VARIABLES,
  IDLE_SUFFIX,
  IDLE_VARIABLES,
  LABEL_VARIABLES,
  NODE_VARIABLES,
  SKIP_DELETION,
  VCENTER_VARIABLES,
} from '../../controller/config/settings/environment.ts'
import { createRandom } from '../simulation/random.ts'
import { compareFiles, compareSecrets, type Verdict } from './compare.ts'
import { IN_FILES } from './differences/in-files.ts'
import { PAGE, withTables } from './differences.ts'
import { generateFile, generateINIText } from './generate-files.ts'

const folder = join(import.meta.dirname, '../fixtures/vsphere-conf')
const names = readdirSync(folder).sort()

/** Files that neither reader takes: what they show is ours to word, and the CPI's to refuse. */
const BROKEN: readonly string[] = [
  'ini-backslash.conf',
  'ini-bad-escape.conf',
  'ini-bad-flag.conf',
  'ini-bare-text.conf',
  'ini-empty-name.conf',
  'ini-no-password.conf',
  'ini-no-section.conf',
  'ini-open-bracket.conf',
  'ini-open-quote.conf',
  'ini-unquoted-name.conf',
  'yaml-bad-port.conf',
  'yaml-empty-vcenter.conf',
  'yaml-half-a-secret-alone.conf',
  'yaml-no-password.conf',
  'yaml-no-server.conf',
  'yaml-no-vcenter.conf',
  'yaml-null-password.conf',
  'yaml-tab-indent.conf',
  'yaml-zero-byte.conf',
]

await t.test(
  'what the CPI takes is taken, with the same values, but for the listed differences',
  async (t) => {
    const listed = new Map(IN_FILES.flatMap(({ shown }) => Object.entries(shown)))
    for (const name of [...listed.keys(), ...BROKEN]) t.ok(names.includes(name), `${name} is in the corpus`)
    const compared = await compareFiles(
      names.map((name) => ({ text: readFileSync(join(folder, name), 'utf8') })),
    )
    for (const [index, name] of names.entries()) {
      const expected = listed.get(name) ?? (BROKEN.includes(name) ? 'neither' : 'same')
      const { verdict, cpi, rollcall } = compared[index] ?? {}
      t.equal(verdict, expected, name)
      if (expected === 'same') t.strictSame(rollcall, cpi, name)
    }
  },
)

await t.test('each difference is shown by a file, and told in the docs', async (t) => {
  for (const { what, shown } of IN_FILES)
    t.ok(
      Object.values(shown).some((verdict) => verdict !== 'same' && verdict !== 'neither'),
      what,
    )
  const page = readFileSync(PAGE, 'utf8')
  t.equal(withTables(page), page, 'npm run generate')
})

const TEXT = `global: {user: file-user, password: file-pw}
vcenter: {vc1: {server: vc.example.com}}
labels: {zone: k8s-zone}
`
/** Names a vCenter besides. The CPI leaves it no IP family unless that is set, to whatever. */
const NAMED = { VSPHERE_VCENTER_1: 'vc-2.example.com', VCENTER_1_IP_FAMILY: 'ipv4' }
const SHA1 = '5E:A4:E3:51:C8:5B:F9:1F:8D:5D:D2:25:12:DD:17:C0:37:D2:C0:5C'

/** What becomes of each variable: the table of the docs, tried out. */
const VARIABLES: readonly [Readonly<Record<string, string>>, Verdict][] = [
  [{}, 'same'],
  [NAMED, 'same'],
  // Meant for all, but the CPI has made its vCenters by then.
  [{ VSPHERE_VCENTER: 'vc-3.example.com' }, 'different'],
  [{ VSPHERE_VCENTER_PORT: '8443' }, 'different'],
  [{ VSPHERE_USER: 'u' }, 'different'],
  [{ VSPHERE_PASSWORD: 'p' }, 'different'],
  [{ VSPHERE_DATACENTER: 'a,b' }, 'different'],
  [{ VSPHERE_CAFILE: '/etc/cloud/ca.pem' }, 'different'],
  [{ VSPHERE_THUMBPRINT: SHA1 }, 'different'],
  [{ VSPHERE_INSECURE: 'true' }, 'different'],
  [{ VSPHERE_SECRET_NAME: 's', VSPHERE_SECRET_NAMESPACE: 'n' }, 'different'],
  [{ VSPHERE_SECRETS_DIRECTORY: '/nowhere' }, 'different'],
  [{ VSPHERE_LABEL_ZONE: 'z', VSPHERE_LABEL_REGION: 'r' }, 'same'],
  [
    {
      VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR: '192.0.2.0/24',
      VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR: '198.51.100.0/24,2001:db8::/32',
      VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME: 'VM Network',
      VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME: 'Outside',
    },
    'same',
  ],
  [{ ...NAMED, VCENTER_1_SERVER: '10.0.0.1', VCENTER_1_PORT: '8443', VCENTER_1_DATACENTERS: 'a,b' }, 'same'],
  [{ ...NAMED, VCENTER_1_USERNAME: 'u', VCENTER_1_PASSWORD: 'p' }, 'same'],
  [{ ...NAMED, VCENTER_1_CAFILE: '/etc/cloud/ca.pem' }, 'same'],
  [{ ...NAMED, VCENTER_1_THUMBPRINT: SHA1 }, 'same'],
  // A value with an equals sign is not found.
  [{ ...NAMED, VCENTER_1_PASSWORD: 'p=q' }, 'different'],
  [{ ...NAMED, VCENTER_1_INSECURE: 'true' }, 'different'],
  [{ VSPHERE_VCENTER_1: 'vc-2.example.com' }, 'different'],
  [{ ...NAMED, VCENTER_1_IP_FAMILY: 'ipv6' }, 'different'],
  // The CPI keeps the global account beside a Secret here, and refers to the Secret by the vCenter's name.
  [{ ...NAMED, VCENTER_1_SECRET_NAME: 's', VCENTER_1_SECRET_NAMESPACE: 'n' }, 'different'],
  [{ ...NAMED, VCENTER_1_ROUNDTRIP: '7' }, 'same'],
  [Object.fromEntries([...IDLE_VARIABLES, SKIP_DELETION].map(({ name }) => [name, '1'])), 'same'],
]

await t.test('each variable does what the docs say', async (t) => {
  const compared = await compareFiles(VARIABLES.map(([environment]) => ({ text: TEXT, environment })))
  for (const [index, [environment, expected]] of VARIABLES.entries()) {
    const { verdict, cpi, rollcall } = compared[index] ?? {}
    t.equal(verdict, expected, JSON.stringify({ environment, cpi, rollcall }))
  }
})

await t.test('each variable of the table is tried', async (t) => {
  const tried = new Set(VARIABLES.flatMap(([environment]) => Object.keys(environment)))
  const fixed = [GLOBAL_VARIABLES, LABEL_VARIABLES, NODE_VARIABLES].flatMap((some) => Object.values(some))
  const suffixes = [...Object.values(VCENTER_VARIABLES), IDLE_SUFFIX].map(({ name }) => `VCENTER_1_${name}`)
  for (const name of [...fixed.map(({ name }) => name), ...suffixes]) t.ok(tried.has(name), name)
})

const SEED = 20_261_122
const FILES = 400

for (const form of ['yaml', 'json', 'ini'] as const) {
  await t.test(`${form}: both take the same files, with the same values`, async (t) => {
    const texts = Array.from({ length: FILES }, (_, i) => generateFile(form, createRandom(SEED + i)))
    const compared = await compareFiles(texts.map((text) => ({ text })))
    const counts = { same: 0, refused: 0 }
    for (const [index, { verdict, cpi, rollcall }] of compared.entries()) {
      if (verdict === 'same') counts.same++
      else if (verdict === 'neither') counts.refused++
      else
        t.strictSame(
          { verdict, rollcall },
          { verdict: 'same', rollcall: cpi },
          `seed ${SEED + index}:\n${texts[index]}`,
        )
    }
    t.ok(counts.same > FILES / 4 && counts.refused > FILES / 20, JSON.stringify(counts))
  })
}

await t.test('ini: what is between the equals sign and the end of the line', async (t) => {
  const texts = Array.from({ length: 4 * FILES }, (_, i) => {
    const text = generateINIText(createRandom(SEED + i))
    return `[Global]\nuser = u\npassword = p${text}\n[VirtualCenter "vc.example.com"]\n`
  })
  const compared = await compareFiles(texts.map((text) => ({ text })))
  const counts = { same: 0, refused: 0 }
  for (const [index, { verdict, cpi, rollcall }] of compared.entries()) {
    // A line's end inside makes another key of what follows, which the CPI passes over: a listed difference.
    const unknown = 'refusal' in rollcall && /^global\.\S+: unknown key: [^\n]*$/.test(rollcall.refusal)
    if (verdict === 'same') counts.same++
    else if (verdict === 'neither') counts.refused++
    else if (!unknown)
      t.strictSame({ verdict, rollcall }, { verdict: 'same', rollcall: cpi }, JSON.stringify(texts[index]))
  }
  t.ok(counts.same > FILES / 4 && counts.refused > FILES / 4, JSON.stringify(counts))
})

const DOTTED = { 'vc.username': 'u', 'vc.password': 'p' }
const LETTERED = { server_a: 'vc', username_a: 'v', password_a: 'q' }

const MANAGER = { 'vc.vc-session-manager-url': 'https://m/s\n', 'vc.vc-session-manager-token': 't\n' }

const SECRETS: readonly [string, Readonly<Record<string, string>>, string, Verdict][] = [
  ['by the name of the server', DOTTED, 'vc', 'same'],
  ['with dots in it', { '10.0.0.1.username': 'u', '10.0.0.1.password': 'p' }, '10.0.0.1', 'same'],
  ['of several', { ...DOTTED, 'vc2.username': 'u2', 'vc2.password': 'p2' }, 'vc2', 'same'],
  ['by a letter', LETTERED, 'vc', 'same'],
  ['by a word', { server_eu_1: 'fd01::1', username_eu_1: 'v', password_eu_1: 'q' }, 'fd01::1', 'same'],
  ['in both forms', { ...DOTTED, ...LETTERED }, 'vc', 'same'],
  ['newlines', { 'vc.username': 'u\n', 'vc.password': 'p\n\n' }, 'vc', 'same'],
  ['a newline by a letter', { ...LETTERED, password_a: 'q\n' }, 'vc', 'same'],
  ['carriage returns and blanks', { ...DOTTED, 'vc.password': ' p\r\n' }, 'vc', 'same'],
  ['signs', { ...DOTTED, 'vc.password': `"'\\#;!=\té` }, 'vc', 'same'],
  ['a session manager', MANAGER, 'vc', 'same'],
  ['a session manager beside user and password', { ...DOTTED, ...MANAGER }, 'vc', 'same'],
  ['a session manager in place of nothing', { ...DOTTED, 'vc.vc-session-manager-url': '\n' }, 'vc', 'same'],
  ['another server', DOTTED, 'vc2', 'neither'],
  ['nothing', {}, 'vc', 'neither'],
  ['a letter without a server', { username_a: 'v', password_a: 'q' }, 'vc', 'neither'],
  // As docs/differences.md has them.
  ['a key that nobody knows', { ...DOTTED, other: 'x' }, 'vc', 'same'],
  ['another server lacks its password', { ...DOTTED, 'vc2.username': 'u2' }, 'vc', 'same'],
  ['a name in another case', DOTTED, 'VC', 'only Rollcall'],
  ['a name in brackets', { ...LETTERED, server_a: '[fd01::1]' }, 'fd01::1', 'only Rollcall'],
  ['a session manager without a token', { 'vc.vc-session-manager-url': 'https://m/s' }, 'vc', 'only the CPI'],
  [
    'a session manager without TLS',
    { ...MANAGER, 'vc.vc-session-manager-url': 'http://m/s' },
    'vc',
    'only the CPI',
  ],
  ['a user alone', { 'vc.username': 'u' }, 'vc', 'only the CPI'],
  ['half of the letters beside a whole name', { ...DOTTED, server_a: 'vc' }, 'vc', 'only the CPI'],
]

await t.test('each Secret has the same credential for both, but for the listed differences', async (t) => {
  const compared = await compareSecrets(SECRETS.map(([, secret, server]) => ({ secret, server })))
  for (const [index, [what, , , expected]] of SECRETS.entries()) {
    const { verdict, cpi, rollcall } = compared[index] ?? {}
    t.equal(verdict, expected, JSON.stringify({ what, cpi, rollcall }))
  }
})
