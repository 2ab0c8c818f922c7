import { rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import t from 'tap'
import { isFresh, stampText } from './binaries.ts'
import { root } from './programs.ts'

await t.test('a binary is fresh as long as nothing that decides it has changed', async (t) => {
  const dir = t.testdir({ 'main.ts': 'one', 'other.ts': 'two' })
  const path = (name: string) => join(dir, name)
  const sources = ['main.ts', 'other.ts'].map((name) => relative(root, path(name)))
  const ingredients = ['24.21.0', 'lockfile']
  await writeFile(path('stamp'), await stampText(sources, ingredients))

  t.ok(await isFresh(path('stamp'), ingredients))
  t.notOk(await isFresh(path('stamp'), ['24.21.1', 'lockfile']), 'another Node')
  t.notOk(await isFresh(path('stamp'), ['24.21.0lockfile']), 'the same letters in other places')
  t.notOk(await isFresh(path('none'), ingredients), 'no stamp')
  await writeFile(path('half'), '{"sources":')
  t.notOk(await isFresh(path('half'), ingredients), 'half a stamp')

  await writeFile(path('other.ts'), 'three')
  t.notOk(await isFresh(path('stamp'), ingredients), 'a changed source')
  await writeFile(path('other.ts'), 'two')
  t.ok(await isFresh(path('stamp'), ingredients), 'a source that was touched and not changed')
  await rm(path('other.ts'))
  t.notOk(await isFresh(path('stamp'), ingredients), 'a source that is gone')
})
