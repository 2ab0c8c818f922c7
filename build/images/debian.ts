/**
 * Debian's packages that images take files from, as `debian.json` pins them, and one that a test runs:
 * `node build/images/debian.ts` pins what this machine's apt offers now.
 */
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runAsProgram, withLock } from '../entry.ts'
import { type Architecture, architectures, cacheFolder } from '../programs.ts'
import { readTar, type TarEntry } from '../tar.ts'

const run = promisify(execFile)
const pinsFile = join(import.meta.dirname, 'debian.json')
/** The container runtime of `npm run test:pods`. */
const runcFile = join(import.meta.dirname, '../../test/pods/debian.json')

/** A package in one version, and the SHA-256 of its file for each architecture, in hexadecimal. */
export interface DebianPin {
  readonly name: string
  readonly version: string
  readonly sha256: Readonly<Record<Architecture, string>>
}

/** The packages that images take files from, or those of another file. */
export async function debianPins(file = pinsFile): Promise<readonly DebianPin[]> {
  return JSON.parse(await readFile(file, 'utf8'))
}

/**
 * Reads files from pinned packages. Those that are not in the user's cache, or are not there as they are pinned, are fetched
 * by apt, which checks Debian's signature, and compared with their pins.
 *
 * @param wanted whether a path of a package, as `lib/x`, is to be read
 * @throws Error where there is no apt, or it does not offer that version any more.
 */
export async function readDebianPackages(
  pins: readonly DebianPin[],
  architecture: Architecture,
  wanted: (name: string, path: string) => boolean,
  env: NodeJS.ProcessEnv = process.env,
): Promise<readonly { readonly control: string; readonly entries: readonly TarEntry[] }[]> {
  const cache = cacheFolder('packages', env)
  await mkdir(cache, { recursive: true })
  const path = (pin: DebianPin) => join(cache, `${pin.name}-${pin.sha256[architecture]}.deb`)
  const cached = await withLock(join(cache, 'apt.lock'), async () => {
    const missing: DebianPin[] = []
    for (const pin of pins)
      if (!(await isFile(path(pin))) || (await sha256(path(pin))) !== pin.sha256[architecture])
        missing.push(pin)
    if (missing.length > 0)
      await withApt(cache, async (download) => {
        for (const pin of missing) {
          const file = await download(pin.name, architecture, pin.version)
          if ((await sha256(file)) !== pin.sha256[architecture])
            throw new Error(`${pin.name} ${pin.version} for ${architecture} is not the file that is pinned`)
          await rename(file, path(pin))
        }
      })
    return pins.map(path)
  })
  return Promise.all(
    cached.map(async (file, index) => {
      const { stdout: control } = await run('dpkg-deb', ['--field', file])
      const options = { encoding: 'buffer', maxBuffer: 1 << 28 } as const
      const { stdout: archive } = await run('dpkg-deb', ['--fsys-tarfile', file], options)
      const name = pins[index]?.name ?? ''
      return { control, entries: await readTar(archive, (path) => wanted(name, path)) }
    }),
  )
}

/** Downloads a package as apt finds it, or in one version, and returns the path of its file. */
type Download = (name: string, architecture: Architecture, version?: string) => Promise<string>

/** Has apt read its lists into a folder of its own, for all architectures; nothing of the machine changes. */
async function withApt<T>(parent: string, use: (download: Download) => Promise<T>): Promise<T> {
  const dir = await mkdtemp(join(parent, 'apt.'))
  const settings = [
    `Dir::State=${dir}`,
    'Dir::State::status=/dev/null',
    `Dir::Cache=${dir}`,
    'Dir::Cache::pkgcache=packages.bin',
    ...architectures.map((architecture) => `APT::Architectures::=${architecture}`),
    // Root needs no other account to write into its own folder.
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false',
  ]
  const apt = (args: readonly string[], cwd: string) =>
    run('apt-get', ['-qq', ...settings.flatMap((setting) => ['-o', setting]), ...args], { cwd })
  try {
    await mkdir(join(dir, 'lists/partial'), { recursive: true })
    await mkdir(join(dir, 'archives/partial'), { recursive: true })
    await apt(['update'], dir)
    return await use(async (name, architecture, version) => {
      const into = await mkdtemp(join(dir, 'download.'))
      await apt(['download', `${name}:${architecture}${version === undefined ? '' : `=${version}`}`], into)
      const [file] = await readdir(into)
      if (file === undefined) throw new Error(`apt downloaded no ${name}`)
      return join(into, file)
    })
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error)
    throw new Error(
      `images take files from packages of Debian 12, which apt must offer; this machine's says: ${said.slice(-1000)}\n` +
        'Where only the version is another one, pin it and look at what changes: node build/images/debian.ts',
      { cause: error },
    )
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  )
}

async function sha256(file: string): Promise<string> {
  return hash('sha256', await readFile(file), 'hex')
}

/** Pins the versions that apt offers now. */
async function main(): Promise<void> {
  const cache = cacheFolder('packages', process.env)
  await mkdir(cache, { recursive: true })
  await withApt(cache, async (download) => {
    for (const file of [pinsFile, runcFile]) {
      const renewed: DebianPin[] = []
      for (const { name } of await debianPins(file)) renewed.push(await pin(name, download))
      await writeFile(file, `${JSON.stringify(renewed, undefined, 2)}\n`)
    }
  })
}

async function pin(name: string, download: Download): Promise<DebianPin> {
  const amd64 = await download(name, 'amd64')
  const arm64 = await download(name, 'arm64')
  const [version = '', other] = await Promise.all([amd64, arm64].map(versionOf))
  if (version !== other) throw new Error(`${name} has two versions, try again later: ${version}, ${other}`)
  return { name, version, sha256: { amd64: await sha256(amd64), arm64: await sha256(arm64) } }
}

async function versionOf(file: string): Promise<string> {
  const { stdout } = await run('dpkg-deb', ['--field', file, 'Version'])
  return stdout.trim()
}

if (import.meta.main) runAsProgram(main)
