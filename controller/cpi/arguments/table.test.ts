import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { FlagRow } from './flags.ts'
import { FLAGS, helpOnFlags } from './table.ts'

const list = readFileSync(join(import.meta.dirname, '../../../test/cpi/flags.tsv'), 'utf8')
const theirs = list
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => line.split('\t'))
const ours = Object.entries<FlagRow<unknown>>(FLAGS).filter(([, { own }]) => own !== true)

t.test('the table has each flag of the CPI as the CPI has it, and no other', async (t) => {
  t.ok(theirs.length > 80)
  const told = ours.map(([name, { shorthand = '', kind, default: standard }]) => [
    name,
    shorthand,
    kind.type,
    kind.bare ?? '',
    standard,
  ])
  const byName = (a: readonly string[], b: readonly string[]) => String(a[0]).localeCompare(String(b[0]))
  t.strictSame(told.sort(byName), theirs.sort(byName))
})

t.test('what is told of a flag is one sentence', async (t) => {
  for (const [name, { support }] of Object.entries<FlagRow<unknown>>(FLAGS)) {
    if (support.is === 'supported') t.match(support.how, /^[`A-Z].*\.$/s, name)
    else t.match(support.because, /^[a-zA-Z].*[^.]$/s, name)
  }
})

t.test('the help has every flag', async (t) => {
  for (const name of Object.keys(FLAGS)) t.match(helpOnFlags(), new RegExp(`--${name} [a-z]`, 'i'))
})
