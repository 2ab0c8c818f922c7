import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { binary } from './binaries.ts'
import { type ProgramName, programs, root } from './programs.ts'

const run = promisify(execFile)
const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const megabyte = 1e6

for (const name of Object.keys(programs) as ProgramName[]) {
  await t.test(name, async (t) => {
    const path = await binary(name)

    await t.test('is one file within its budget', async (t) => {
      const { size } = await stat(path)
      t.ok(size <= 115 * megabyte, `${size} bytes`)
      t.notOk((await readFile(path)).includes(root), 'names no folder of the machine it was built on')
    })

    await t.test('runs without Node, packages or sources beside it and says its version', async (t) => {
      const { stdout } = await run(path, ['--version'], { cwd: '/', env: {} })
      t.match(stdout.trim(), new RegExp(`(^|\\s)${version}$`))
    })

    await t.test('is deaf to NODE_OPTIONS', async (t) => {
      const dir = await mkdtemp(join(tmpdir(), 'rollcall-binaries-'))
      t.teardown(() => rm(dir, { recursive: true }))
      const script = join(dir, 'intruder.cjs')
      await writeFile(script, 'process.stdout.write("intruder"); process.exit(0)')
      const env = { NODE_OPTIONS: `--require ${script}` }
      t.equal((await run(process.execPath, ['--version'], { env })).stdout.trim(), process.version)
      t.equal(
        (await run(process.execPath, ['-e', '0'], { env })).stdout,
        'intruder',
        'Node itself is not deaf',
      )
      const { stdout } = await run(path, ['--version'], { cwd: '/', env })
      t.notMatch(stdout, 'intruder')
    })

    await t.test('comes with the licenses of what is in it', async (t) => {
      const text = await readFile(`${path}.licenses.txt`, 'utf8')
      t.match(text, /^valibot 1\.\d+\.\d+ \(MIT\)$/m)
      t.match(text, /^Node\.js is licensed for use as follows/m)
    })

    await t.test('is left alone by a second call', async (t) => {
      const before = await stat(path)
      t.equal(await binary(name), path)
      const after = await stat(path)
      t.equal(after.mtimeMs, before.mtimeMs)
      t.equal(after.ino, before.ino)
    })
  })
}

await t.test('rollcall-guestinfo', async (t) => {
  const path = await binary('rollcall-guestinfo')
  const before = await stat(path)
  t.ok(before.size <= 3 * megabyte, `${before.size} bytes`)
  t.equal((await readFile(path)).subarray(0, 4).toString('latin1'), '\x7fELF')
  await binary('rollcall-guestinfo')
  t.equal((await stat(path)).ino, before.ino, 'is left alone by a second call')
})
