import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const docs = readFileSync(join(import.meta.dirname, '../docs/reasons.md'), 'utf8')

t.test("every reason of the agent's is explained to operators, and no other", async (t) => {
  const sources = [import.meta.dirname, join(import.meta.dirname, 'facts')].flatMap((folder) =>
    readdirSync(folder)
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(join(folder, file), 'utf8')),
  )
  const given = sources.flatMap((source) => [
    ...source.matchAll(/\bunreadable\(\s*'([A-Z][A-Za-z]+)'/g),
    ...source.matchAll(/\breason: '([A-Z][A-Za-z]+)'/g),
    // The table of a guest RPC tool's answers.
    ...source.matchAll(/\/i,\s+'([A-Z][A-Za-z]+)',/g),
  ])
  // What a printed report has, and what every good one has.
  const good = ['Written', 'NotTried']
  const reasons = new Set(given.map(([, reason = '']) => reason).filter((reason) => !good.includes(reason)))
  t.ok(reasons.size > 10, 'the patterns find them')
  const [, section = ''] = /^## What the agent says\n(.*?)^## /ms.exec(docs) ?? []
  const rows = [...section.matchAll(/^\| (`.*?) \| /gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? [])
  t.same([...new Set(rows)].sort(), [...reasons].sort())
})
