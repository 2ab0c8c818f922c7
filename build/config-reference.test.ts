import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { DOCS, SCHEMA, schemaOf, withTables } from './config-reference.ts'
import { misfits } from './testing/json-schema.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

const AGAIN = 'npm run generate'

t.test('the tables of the docs are those of the table of settings', async (t) => {
  t.equal(withTables(read(DOCS)), read(DOCS), AGAIN)
  t.throws(() => withTables('no markers'), /no markers in .* for settings, lifecycle, ignored/)
})

t.test('the schema for editors is current', async (t) => {
  t.strictSame(JSON.parse(read(SCHEMA)), JSON.parse(JSON.stringify(schemaOf())), AGAIN)
})

t.test('what the docs show fits the schema', async (t) => {
  const examples = [...read(DOCS).matchAll(/^```yaml\n(.*?)^```$/gms)].map(([, text = '']) => text)
  t.ok(examples.length > 3)
  for (const example of examples) t.same(misfits(parse(example), schemaOf()), [], example)
})

t.test('what the schema tells an editor', async (t) => {
  const cases: readonly [string, string[]][] = [
    ['vcenter: {a: {server: a, port: "443", insecure-flag: 1, datacenters: a}}', []],
    ['vcenter: {a: ~}\nlabels:\nlifecycle: {absent_for: 1h30m, deletion: off, waitForVolumes: off}', []],
    ['vcenter: {a: {prot: 1}}', ['/vcenter/a/prot']],
    ['vcentre: {}', ['/vcentre']],
    ['vcenter: {a: text}', ['/vcenter/a']],
    ['vcenter: {a: {insecureFlag: maybe, user: [a]}}', ['/vcenter/a/insecureFlag', '/vcenter/a/user']],
    ['lifecycle: {confirmations: 0}', ['/lifecycle/confirmations']],
    ['lifecycle: {absentFor: 300}', ['/lifecycle/absentFor']],
    ['lifecycle: {maxAbsentShare: 20}', ['/lifecycle/maxAbsentShare']],
    ['identity: {require: strict}', ['/identity/require']],
  ]
  for (const [text, expected] of cases) t.same([...misfits(parse(text), schemaOf())].sort(), expected, text)
})
