import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

const run = promisify(execFile)
const url = new URL('log.ts', import.meta.url).href

t.test('what a terminal would act on is escaped, in messages, fields, errors and their causes', async (t) => {
  const script = `
    import { createLogger } from ${JSON.stringify(url)}
    const bad = 'a\\u009b\\u202e\\u2028'
    const err = new Error(bad, { cause: new Error(bad) })
    createLogger({ level: 'info', now: () => 0 }).child({ of: bad }).error({ err, [bad]: [bad] }, bad)
  `
  const { stderr } = await run(process.execPath, ['--input-type=module', '--eval', script])
  t.match(stderr, /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+\n$/u)
  const bad = 'a\u009b\u202e\u2028'
  t.match(JSON.parse(stderr), {
    level: 'error',
    of: bad,
    [bad]: [bad],
    msg: bad,
    time: '1970-01-01T00:00:00.000Z',
  })
  t.match(JSON.parse(stderr).err.stack, bad)
})
