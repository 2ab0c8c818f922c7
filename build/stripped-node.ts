import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { access, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { type Architecture, hostArchitecture, nodeArchitecture } from './architecture.ts'
import { root } from './programs.ts'
import { stripSymbols } from './strip-symbols.ts'
import { readTar } from './tar.ts'

const run = promisify(execFile)

const packageName = (architecture: Architecture) => `node-linux-${nodeArchitecture(architecture)}`

/** The package that holds Node's official binary for this machine. */
export const nodePackage = `node_modules/${packageName(hostArchitecture())}`

/** A copy of Node's binary without its symbols, 18 MB smaller, made once in `dir`. */
export async function strippedNode(
  dir: string,
  version: string,
  architecture: Architecture,
): Promise<string> {
  const stripped = join(dir, `node-${version}-${architecture}`)
  if (await exists(stripped)) return stripped
  await mkdir(dir, { recursive: true })
  const temporary = await mkdtemp(`${stripped}.`)
  try {
    const unfinished = join(temporary, 'node')
    const original =
      architecture === hostArchitecture()
        ? await readFile(join(root, nodePackage, 'bin/node'))
        : await foreignNode(temporary, version, architecture)
    await writeFile(unfinished, stripSymbols(original), { mode: 0o755 })
    await rename(unfinished, stripped)
    return stripped
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** npm installs no package for another architecture than the machine's, so it only fetches this one; checked by the lockfile. */
async function foreignNode(temporary: string, version: string, architecture: Architecture): Promise<Buffer> {
  const name = packageName(architecture)
  await run('npm', ['pack', '--silent', '--pack-destination', temporary, `${name}@${version}`], { cwd: root })
  const archive = await readFile(join(temporary, `${name}-${version}.tgz`))
  const lockfile = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  const expected: unknown = lockfile.packages[`node_modules/${name}`]?.integrity
  const found = `sha512-${createHash('sha512').update(archive).digest('base64')}`
  if (found !== expected)
    throw new Error(`${name}@${version} is not the package that package-lock.json names: ${found}`)
  const [node] = await readTar(await promisify(gunzip)(archive), (path) => path === 'package/bin/node')
  if (node?.type !== 'file') throw new Error(`${name}@${version} has no bin/node`)
  return node.content
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
