import t from 'tap'
import { missing } from './requirements.ts'

const PROGRAMS = ['qemu-system-x86_64', 'mmdebstrap', 'mke2fs']

/** A PATH with these programs. */
function pathWith(programs: readonly string[]): NodeJS.ProcessEnv {
  const dir = t.testdir(Object.fromEntries(programs.map((name) => [name, t.fixture('symlink', '/bin/sh')])))
  return { PATH: `/nowhere:${dir}` }
}

t.test('packages are named, and how to install them', async (t) => {
  t.match(
    missing(pathWith(['mke2fs']), 0),
    /^not installed: (qemu-system-x86 mmdebstrap); .*apt-get install .* \1$/,
  )
  t.match(missing({}, 0), 'e2fsprogs')
})

t.test('it takes root', async (t) => {
  t.match(missing(pathWith(PROGRAMS), 1000), /as root/)
  t.equal(missing(pathWith(PROGRAMS), 0), undefined)
})
