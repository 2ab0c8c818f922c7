import t, { type Test } from 'tap'
import { root } from '../programs.ts'
import { checkCommitted, checkInstalled, parseOptions } from './main.ts'

const one = { version: '1.0.0', integrity: 'sha512-AAAA' }

function folder(t: Test, installed: Record<string, object>): string {
  const named = { '': { version: '0.1.0' }, 'node_modules/a': one, 'node_modules/elsewhere': one }
  return t.testdir({
    'package-lock.json': JSON.stringify({ packages: named }),
    node_modules: { '.package-lock.json': JSON.stringify({ packages: installed }) },
  })
}

t.test('what is installed is what the lockfile names', async (t) => {
  await t.resolves(checkInstalled(root))
  await t.resolves(checkInstalled(folder(t, { 'node_modules/a': one })), 'not all are for this machine')
})

t.test('anything else is named', async (t) => {
  const others: Record<string, Record<string, object>> = {
    version: { 'node_modules/a': { ...one, version: '1.0.1' } },
    archive: { 'node_modules/a': { ...one, integrity: 'sha512-BBBB' } },
    'archive that nobody knows': { 'node_modules/a': { version: '1.0.0' } },
  }
  for (const [what, installed] of Object.entries(others))
    await t.rejects(checkInstalled(folder(t, installed)), { message: /^node_modules\/a: .*npm ci/ }, what)
  const more = folder(t, { 'node_modules/a': one, 'node_modules/b': one })
  await t.rejects(checkInstalled(more), { message: /^node_modules\/b: / })
})

t.test('a tree that differs from its commit is refused, unless that is asked for', async (t) => {
  const changed = { revision: 'abc-dirty' }
  t.throws(() => checkCommitted(changed, false), { message: /git status.*-- --dirty/ })
  t.doesNotThrow(() => checkCommitted(changed, true))
  t.doesNotThrow(() => checkCommitted({ revision: 'abc' }, false))
})

t.test('where the images will be', async (t) => {
  t.strictSame(parseOptions([]), { registry: undefined, dirty: false, help: false })
  for (const registry of ['registry.example.com', 'localhost:5000/a', 'registry.example.com:443/a_b/c-d'])
    t.match(parseOptions(['--dirty', '--registry', registry]), { registry, dirty: true })
  for (const registry of [
    '',
    'https://registry.example.com',
    'registry.example.com/',
    'a/b:1.0',
    'A/b',
    'a b',
  ])
    t.throws(() => parseOptions(['--registry', registry]), {
      message: /^--registry is ".*": give host and path/,
    })
})
