import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { PAGE, withAttacks } from './page.ts'
import { themes } from './rows/all.ts'

const docs = readFileSync(PAGE, 'utf8')

t.test('docs/attacks.md has every attack as the suite has it, and no other', async (t) => {
  t.equal(docs, withAttacks(docs), 'npm run generate writes them')
})

t.test('the tests that it names are there', async (t) => {
  const named = [...docs.matchAll(/\]\((\.\.\/[^)]+)\)/g)].map(([, path = '']) => path)
  t.not(named.length, 0)
  for (const path of named) t.ok(existsSync(join(import.meta.dirname, '../../docs', path)), path)
})

t.test('every theme is run', async (t) => {
  const suite = readdirSync(import.meta.dirname)
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => readFileSync(join(import.meta.dirname, file), 'utf8'))
    .join('\n')
  for (const [name, { rows }] of Object.entries(themes)) {
    const tried = Object.values(rows).flatMap(({ triedBy }) => triedBy ?? [])
    for (const { file, test } of tried)
      t.ok(readFileSync(join(import.meta.dirname, '../..', file), 'utf8').includes(test), `${file}: ${test}`)
    if (tried.length === 0) t.match(suite, new RegExp(`runTheme\\(\\s*t,\\s*${name},`), name)
    else t.equal(tried.length, Object.keys(rows).length, `${name} is tried elsewhere as a whole`)
  }
})

t.test('every reason of the controller in it is explained to operators', async (t) => {
  const reasons = readFileSync(join(import.meta.dirname, '../../docs/reasons.md'), 'utf8')
  for (const { rows } of Object.values(themes)) {
    for (const { refusedBy, seen, open } of Object.values(rows)) {
      if (refusedBy !== 'controller' || open !== undefined || seen.includes(' ')) continue
      t.ok(reasons.includes(`\`${seen}\``), seen)
    }
  }
})
