import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DOCS, withFlags } from './flag-reference.ts'

const docs = readFileSync(join(import.meta.dirname, '..', DOCS), 'utf8')

t.test('the tables of the docs are those of the table of flags', async (t) => {
  t.equal(withFlags(docs), docs, 'npm run generate')
  t.throws(() => withFlags('no markers'), /no markers in .* for supported, accepted, refused/)
})

t.test('each section that the tables point to is there', async (t) => {
  const sections = [...docs.matchAll(/\]\(#(--[a-z-]+)\)/g)].map(([, name = '']) => name)
  t.ok(sections.length > 2)
  for (const name of sections) t.match(docs, new RegExp(`^## ${name}$`, 'm'), name)
})
