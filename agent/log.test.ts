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
