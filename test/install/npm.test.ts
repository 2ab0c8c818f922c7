/** `npm install` leaves a clone as it is, whichever npm a person has: their lockfiles differ, and `.npmrc` keeps ours. */
import { execFile } from 'node:child_process'
import { copyFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { root } from '../../build/programs.ts'

const FILES = ['package.json', 'package-lock.json', '.npmrc'] as const

for (const version of ['10', '11'])
  t.test(`npm ${version}`, async (t) => {
    const clone = t.testdir()
    for (const file of FILES) await copyFile(join(root, file), join(clone, file))
    // What it would write there depends on the lockfile alone, and takes seconds without the packages themselves.
    // Whoever runs the tests may have asked npm to be silent.
    const args = [
      '--yes',
      `npm@${version}`,
      'install',
      '--package-lock-only',
      '--ignore-scripts',
      '--loglevel=notice',
    ]
    const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
    const { stdout } = await promisify(execFile)('npx', args, { cwd: clone, env: { ...process.env, PATH } })
    t.match(stdout, /up to date/)
    for (const file of FILES)
      t.equal(await readFile(join(clone, file), 'utf8'), await readFile(join(root, file), 'utf8'), file)
  })
