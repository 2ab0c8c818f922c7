import t from 'tap'
import { createLogger } from './log.ts'

t.test('lines have the shape of the controller’s', (t) => {
  const lines: string[] = []
  const log = createLogger({ level: 'info', now: () => 0, write: (line) => lines.push(line) })
  log.debug({}, 'below the level')
  log.info({ node: 'n1' }, 'said')
  log.warn({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed')
  t.same(lines, [
    '{"level":"info","time":"1970-01-01T00:00:00.000Z","node":"n1","msg":"said"}\n',
    '{"level":"warn","time":"1970-01-01T00:00:00.000Z","err":"outer: inner","msg":"failed"}\n',
  ])
  t.end()
})

t.test('what a terminal would act on is escaped, in messages, fields and errors', async (t) => {
  const lines: string[] = []
  const log = createLogger({ level: 'info', now: () => 0, write: (line) => lines.push(line) })
  const bad = 'a\u009b\u202e\u2028'
  log.warn({ err: new Error(bad, { cause: new Error(bad) }), [bad]: { deep: [bad] } }, bad)
  t.equal(lines.length, 1)
  t.match(lines[0], /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u)
  t.match(JSON.parse(lines[0] ?? ''), { err: `${bad}: ${bad}`, [bad]: { deep: [bad] }, msg: bad })
})
