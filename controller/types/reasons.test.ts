import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CLAIM_REASONS, FAILURE_REASONS, REASONS } from './reasons.ts'

const docs = readFileSync(join(import.meta.dirname, '../../docs/reasons.md'), 'utf8')

t.test('every reason that can be given is explained to operators, and no other', async (t) => {
  // The agent's have a test of their own.
  const own = docs.replace(/^## What the agent says\n.*?(?=^## )/ms, '')
  const rows = [...own.matchAll(/^\| (`.*?) \| /gm)].flatMap(([, cell = '']) => cell.match(/`\w+`/g) ?? [])
  const explained = new Set(rows.map((row) => row.replaceAll('`', '')))
  t.same([...explained].sort(), [...REASONS, ...FAILURE_REASONS, ...CLAIM_REASONS].sort())
})
