import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { VERSION } from './version.ts'

t.test('the version is that of the package', async (t) => {
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  t.equal(VERSION, version)
})
