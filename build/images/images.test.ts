import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hostArchitecture, type ProgramName } from '../programs.ts'
import { readTar } from '../tar.ts'
import { programImage } from './images.ts'

const source = { version: '0.0.0', revision: 'none', created: '2026-01-02T03:04:05Z' }
const isRoot = process.getuid?.() === 0

for (const [name, user] of [
  ['rollcall-agent', '0:0'],
  ['rollcall-controller', '65532:65532'],
] as const satisfies readonly (readonly [ProgramName, string])[]) {
  await t.test(`the image of ${name}`, async (t) => {
    const architecture = hostArchitecture()
    const { archive, sizes } = await programImage(name, source, [architecture])
    t.ok((sizes[architecture] ?? 0) <= 45e6, `${sizes[architecture]} bytes compressed`)
    const dir = await unpack(t, archive)

    await t.test('runs, on a root that cannot be written', { skip: !isRoot && 'needs root' }, async (t) => {
      const ran = runIn(dir, user, [`/${name}`, '--version'])
      t.equal(ran.status, 0, ran.stderr)
      t.match(ran.stdout, /^\d+\.\d+\.\d+\s*$/)
      t.equal(ran.stderr, '')
    })

    await t.test('has no shell', { skip: !isRoot && 'needs root' }, async (t) => {
      t.match(runIn(dir, user, ['/bin/sh', '-c', 'true']).stderr, /No such file/)
    })
  })
}

/** Unpacks the layers one over the other, as a container runtime does. */
async function unpack(t: Test, archive: Buffer): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-image-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  const files = new Map(
    (await readTar(archive, () => true)).map((entry) => [
      entry.path,
      entry.type === 'file' ? entry.content : Buffer.alloc(0),
    ]),
  )
  const read = (path: string) => JSON.parse(files.get(path)?.toString() ?? '')
  const blob = (descriptor: { digest: string }) => `blobs/${descriptor.digest.replace(':', '/')}`
  const index = read(blob(read('index.json').manifests[0]))
  const { layers } = read(blob(index.manifests[0]))
  const root = join(dir, 'root')
  await mkdir(root)
  for (const layer of layers) {
    const file = join(dir, 'layer.tar.gz')
    await writeFile(file, files.get(blob(layer)) ?? '')
    const ran = spawnSync('tar', ['-xzf', file, '-C', root], { encoding: 'utf8' })
    t.equal(ran.stderr, '')
  }
  return root
}

/** Runs a command in a mount namespace of its own, where `root` is read-only. */
function runIn(root: string, user: string, command: readonly string[]) {
  const script =
    'root=$1 user=$2; shift 2; mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" && ' +
    'exec chroot --userspec="$user" "$root" "$@"'
  return spawnSync('unshare', ['--mount', 'sh', '-c', script, 'sh', root, user, ...command], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
}
