/** What containerd is given: the images of `npm run release`, one that holds Pods' namespaces, and a container runtime. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, glob, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binary } from '../../build/binaries.ts'
import { debianPins, readDebianPackages } from '../../build/images/debian.ts'
import { programImage } from '../../build/images/images.ts'
import { imageArchive, layer } from '../../build/images/oci.ts'
import { dist, hostArchitecture, type ProgramName, root } from '../../build/programs.ts'
import { serverBinary } from '../servers/build.ts'

const CREATED = '1970-01-01T00:00:00Z'
const PROGRAMS: readonly ProgramName[] = ['rollcall-agent', 'rollcall-controller']
/** Of this machine's architecture; to compress one takes many seconds. */
const FOLDER = join(dist, '.images')

/** What holds a Pod's namespaces, as containerd names it. */
export const PAUSE_IMAGE = 'docker.io/library/rollcall-pause:test'

/** Paths of the archives, which are made where they are missing or their content has changed. */
export async function imageArchives(): Promise<string[]> {
  await mkdir(FOLDER, { recursive: true })
  const recipe = await recipeHash()
  const paths = await Promise.all(PROGRAMS.map((name) => cached(name, recipe)))
  const pause = join(FOLDER, 'pause.oci.tar')
  await writeFile(pause, await pauseImage())
  return [...paths, pause]
}

async function cached(name: ProgramName, recipe: string): Promise<string> {
  const hash = createHash('sha256').update(recipe)
  for (const each of [name, 'rollcall-guestinfo'] as const) hash.update(await readFile(await binary(each)))
  const path = join(FOLDER, `${name}-${hash.digest('hex').slice(0, 16)}.oci.tar`)
  if (await isThere(path)) return path
  for await (const old of glob(`${name}-*.oci.tar`, { cwd: FOLDER })) await rm(join(FOLDER, old))
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  // Neither commit nor time, for each would be another image.
  const source = { version, revision: 'none', created: CREATED }
  const { archive } = await programImage(name, source, [hostArchitecture()])
  await writeFile(`${path}.new`, archive)
  await rename(`${path}.new`, path)
  return path
}

/** Over all else that decides an image. */
async function recipeHash(): Promise<string> {
  const hash = createHash('sha256').update(process.version)
  const files: string[] = []
  for await (const file of glob('build/{tar.ts,images/*}', { cwd: root })) files.push(file)
  for (const file of files.sort()) hash.update(`${file}\0`).update(await readFile(join(root, file)))
  return hash.digest('hex')
}

async function pauseImage(): Promise<Buffer> {
  const content = await readFile(await serverBinary('pause'))
  const { archive } = await imageArchive({
    name: PAUSE_IMAGE.replace(/^.*\//, ''),
    labels: {},
    created: CREATED,
    platforms: [
      {
        architecture: hostArchitecture(),
        layers: [await layer('pause', [{ type: 'file', path: 'pause', mode: 0o755, content }])],
        run: { user: '65535:65535', entrypoint: ['/pause'], env: [] },
      },
    ],
  })
  return archive
}

/**
 * Path of Debian's runc, in the version that is pinned.
 *
 * @throws Error where apt does not offer it, or this system lacks what it loads: libseccomp, which apt itself needs.
 */
export async function containerRuntime(): Promise<string> {
  const pins = await debianPins(join(import.meta.dirname, 'debian.json'))
  const wanted = 'usr/sbin/runc'
  const [found] = await readDebianPackages(pins, hostArchitecture(), (_, path) => path === wanted)
  const [entry] = found?.entries ?? []
  if (entry?.type !== 'file') throw new Error(`Debian's package runc has no ${wanted}`)
  await mkdir(FOLDER, { recursive: true })
  const path = join(FOLDER, 'runc')
  await writeFile(`${path}.new`, entry.content, { mode: 0o755 })
  await rename(`${path}.new`, path)
  await promisify(execFile)(path, ['--version'])
  return path
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
