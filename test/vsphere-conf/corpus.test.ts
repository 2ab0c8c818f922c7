/** The CPI's own reader against ours, on files as users have them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { compare } from './compare.ts'
import { DIFFERENCES, PAGE, withTable } from './differences.ts'

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
    const listed = new Map(DIFFERENCES.flatMap(({ shown }) => Object.entries(shown)))
    for (const name of [...listed.keys(), ...BROKEN]) t.ok(names.includes(name), `${name} is in the corpus`)
    const compared = await compare(names.map((name) => ({ text: readFileSync(join(folder, name), 'utf8') })))
    for (const [index, name] of names.entries()) {
      const expected = listed.get(name) ?? (BROKEN.includes(name) ? 'both refuse' : 'same')
      const { outcome, cpi, rollcall } = compared[index] ?? {}
      t.equal(outcome, expected, name)
      if (expected === 'same') t.strictSame(rollcall, cpi, name)
    }
  },
)

await t.test('each difference is shown by a file, and told in the docs', async (t) => {
  for (const { what, shown } of DIFFERENCES)
    t.ok(
      Object.values(shown).some((outcome) => outcome !== 'same' && outcome !== 'both refuse'),
      what,
    )
  const page = readFileSync(join(import.meta.dirname, '../..', PAGE), 'utf8')
  t.equal(withTable(page), page, 'npm run generate')
})
