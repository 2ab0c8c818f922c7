import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const docs = readFileSync(join(import.meta.dirname, '../../docs/reasons.md'), 'utf8')

t.test('every reason that can be given is explained to operators', async (t) => {
  const sources = [import.meta.dirname, join(import.meta.dirname, '../apply')].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(join(folder, file), 'utf8')),
  )
  const reasons = sources.flatMap((source) =>
    [
      ...source.matchAll(/\b(?:no|yes|unknown|absent)\(\s*'([A-Z][A-Za-z]+)'|reason: '([A-Z][A-Za-z]+)'/g),
    ].map(([, first, second]) => first ?? second ?? ''),
  )
  t.ok(reasons.length > 20, 'the pattern finds them')
  for (const reason of new Set(reasons)) t.ok(docs.includes(`\`${reason}\``), reason)
})
