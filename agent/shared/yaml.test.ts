import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parseYAML } from './yaml.ts'

const run = promisify(execFile)

/** Parses in a process with a heap about as small as the agent's; what became of it. */
async function parseInSmallHeap(text: string): Promise<string> {
  const script = `
    import { parseYAML } from '${join(import.meta.dirname, 'yaml.ts')}'
    const text = JSON.parse(process.env.TEXT)
    console.log(await parseYAML(text.one.repeat(text.times)).then(() => 'parsed', () => 'refused'))`
  const args = ['--max-old-space-size=40', '--max-semi-space-size=1', '--input-type=module', '-e', script]
  const ended = run(process.execPath, args, { env: { TEXT: text } })
  return ended.then(
    ({ stdout }) => stdout.trim(),
    () => 'the process died',
  )
}

t.test('what a hostile text may cost', async (t) => {
  for (const [name, one, expected] of [
    ['brackets', '[', 'refused'],
    ['brackets of two kinds', '[{', 'refused'],
    ['an error at each character', '}\n', 'refused'],
    ['an error after each value', '{} ', 'refused'],
    ['equal keys', 'a:\n', 'parsed'],
  ] as const) {
    const times = Math.floor(65_536 / one.length)
    t.equal(await parseInSmallHeap(JSON.stringify({ one, times })), expected, name)
  }
})

t.test('nesting', async (t) => {
  const nested = (depth: number) => `a: ${'['.repeat(depth)}${']'.repeat(depth)}`
  await t.resolves(parseYAML(nested(64)))
  await t.rejects(parseYAML(nested(65)), { name: 'SyntaxError' })
  await t.rejects(parseYAML(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`), { name: 'SyntaxError' }, 'JSON too')
  const many = `a: [${Array.from({ length: 200 }, () => '[]').join()}]`
  await t.resolves(parseYAML(many), 'many side by side are not deep')
})

t.test('of a key that stands twice the last counts', async (t) => {
  t.same(await parseYAML('a: 1\na: 2'), { a: 2 })
})

t.test('stack traces are as before', async (t) => {
  const before = Error.stackTraceLimit
  await t.rejects(parseYAML('a: ]'))
  t.equal(Error.stackTraceLimit, before)
})
