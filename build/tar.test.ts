import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { gzipped, readTar, type TarEntry, tar } from './tar.ts'

const entries: readonly TarEntry[] = [
  { type: 'file', path: 'usr/bin/tool', mode: 0o755, content: Buffer.from('tool') },
  { type: 'file', path: 'usr/bin.txt', mode: 0o644, content: Buffer.from('') },
  { type: 'symlink', path: 'bin', target: 'usr/bin' },
  { type: 'directory', path: 'var/lib/state', mode: 0o700 },
]

t.test('an archive depends on its entries alone, not on their order', async (t) => {
  const archive = await tar(entries)
  t.ok((await tar([...entries].reverse())).equals(archive))
  t.ok((await gzipped(archive)).equals(await gzipped(archive)))
})

t.test('GNU tar reads it: sorted, of root, of 1970, with the folders on the way', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-tar-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const file = join(dir, 'x.tar')
  await writeFile(file, await tar(entries))
  const env = { ...process.env, TZ: 'UTC', LC_ALL: 'C' }
  const { stdout } = await promisify(execFile)('tar', ['--numeric-owner', '-tvf', file], { env })
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '))
  t.strictSame(lines, [
    'lrwxrwxrwx 0/0 0 1970-01-01 00:00 bin -> usr/bin',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 usr/bin/',
    '-rw-r--r-- 0/0 0 1970-01-01 00:00 usr/bin.txt',
    '-rwxr-xr-x 0/0 4 1970-01-01 00:00 usr/bin/tool',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 var/',
    'drwxr-xr-x 0/0 0 1970-01-01 00:00 var/lib/',
    'drwx------ 0/0 0 1970-01-01 00:00 var/lib/state/',
  ])
})

t.test('what was asked for is read back', async (t) => {
  const archive = await tar(entries)
  t.strictSame(await readTar(archive, (path) => path.startsWith('usr/bin/') || path === 'bin'), [
    { type: 'symlink', path: 'bin', target: 'usr/bin' },
    { type: 'file', path: 'usr/bin/tool', mode: 0o755, content: Buffer.from('tool') },
  ])
})

t.test('half an archive is an error', async (t) => {
  const archive = await tar([{ type: 'file', path: 'big', mode: 0o644, content: Buffer.alloc(5000, 1) }])
  await t.rejects(readTar(archive.subarray(0, 3000), () => true))
})
