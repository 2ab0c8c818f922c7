import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { AGENT_REASONS } from './facts/files.ts'

const docs = readFileSync(join(import.meta.dirname, '../docs/reasons.md'), 'utf8')

t.test("every reason of the agent's is explained to operators, and no other", async (t) => {
  const [, section = ''] = /^## What the agent says\n(.*?)^## /ms.exec(docs) ?? []
  const rows = [...section.matchAll(/^\| (`.*?) \| /gm)].flatMap(([, cell = '']) => cell.match(/\w+/g) ?? [])
  t.same([...new Set(rows)].sort(), [...AGENT_REASONS].sort())
})
