/** Builds the binaries for this machine into dist/: `node build/binaries.ts [name...]`. */

import { createHash } from 'node:crypto'
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle, goNotices, notices } from './bundle.ts'
import { canAccess, runAsProgram, showProgress, withLock } from './entry.ts'
import { makeExecutable } from './executable.ts'
import { goBinary } from './go-command.ts'
import { type Architecture, dist, hostArchitecture, type ProgramName, programs, root } from './programs.ts'
import { nodePackage, strippedNode } from './stripped-node.ts'

export type BinaryName = ProgramName | 'rollcall-guestinfo'

/** What there is for an architecture: of the guest RPC tool, VMware's library has none for arm64. */
export function binaryNames(architecture: Architecture): readonly BinaryName[] {
  const both = ['rollcall-agent', 'rollcall-controller'] as const
  return architecture === 'amd64' ? [...both, 'rollcall-guestinfo'] : both
}

/**
 * The path of a binary in dist/, built first where its sources, the lockfile or Node have changed since. Those for another
 * architecture than this machine's are in a folder of its name.
 *
 * Several processes may ask at once: one builds, the others wait.
 *
 * @param name one that there is for `architecture`
 */
export async function binary(
  name: BinaryName,
  architecture: Architecture = hostArchitecture(),
): Promise<string> {
  const folder = architecture === hostArchitecture() ? dist : join(dist, architecture)
  const output = join(folder, name)
  await mkdir(folder, { recursive: true })
  await mkdir(workFolder, { recursive: true })
  return withLock(join(workFolder, `${name}-${architecture}.lock`), async () => {
    if (name === 'rollcall-guestinfo') await guestinfoTool(output, architecture)
    else await program(name, programs[name], architecture, output)
    return output
  })
}

/** For what is kept between builds and is not shipped. */
const workFolder = join(dist, '.build')

async function program(
  name: string,
  { entry, execArgv }: (typeof programs)[ProgramName],
  architecture: Architecture,
  output: string,
): Promise<void> {
  const { version } = await packageFile('package.json')
  const node = await packageFile(join(nodePackage, 'package.json'))
  const lockfile = await readFile(join(root, 'package-lock.json'), 'utf8')
  const ingredients = [entry, ...execArgv, version, node.version, architecture, lockfile]
  const stampFile = join(workFolder, `${name}-${architecture}.stamp`)
  if ((await isFresh(stampFile, ingredients)) && (await canAccess(output))) return

  const done = showProgress(`building ${name} for ${architecture}`)
  const temporary = join(workFolder, `${name}-${architecture}`)
  try {
    // One that a killed build left behind goes, too.
    await rm(temporary, { recursive: true, force: true })
    await mkdir(temporary)
    const bundled = join(temporary, `${name}.cjs`)
    const { sources, packages } = await bundle(entry, bundled)
    // Taken before the slow part: a source that changes meanwhile makes the next build.
    const stamp = await stampText(sources, ingredients)
    const nodePath = await strippedNode(workFolder, node.version, architecture)
    const unfinished = join(temporary, name)
    await makeExecutable({
      entry: bundled,
      nodePath,
      architecture,
      output: unfinished,
      execArgv,
      nodeVersion: node.version,
    })
    await rm(stampFile, { force: true })
    await writeFile(`${output}.licenses.txt`, await notices([...packages, nodePackage]))
    await rename(unfinished, output)
    await writeFile(stampFile, stamp)
  } catch (error) {
    done('failed')
    throw error
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  done('built')
}

async function packageFile(path: string): Promise<{ version: string }> {
  return JSON.parse(await readFile(join(root, path), 'utf8'))
}

async function main(names: readonly string[]): Promise<void> {
  const all = binaryNames(hostArchitecture())
  for (const name of names.length > 0 ? names : all) {
    const known = all.find((candidate) => candidate === name)
    if (!known) throw new RangeError(`unknown binary ${JSON.stringify(name)}, known are ${all.join(', ')}`)
    process.stdout.write(`${await binary(known)}\n`)
  }
}

/**
 * A hash over the contents of the sources, and over `ingredients`: all else that decides what the binary is.
 *
 * @param sources paths from the repository's root.
 */
export async function contentKey(
  sources: readonly string[],
  ingredients: readonly string[],
): Promise<string> {
  const hash = createHash('sha256')
  for (const ingredient of ingredients) hash.update(`${ingredient}\0`)
  for (const source of sources) hash.update(`${source}\0`).update(await readFile(join(root, source)))
  return hash.digest('hex')
}

/**
 * Whether a binary was made from these ingredients and from sources that are still as they were.
 *
 * Its own list of sources is enough: a new source gets into the program only by a change to one that is on the list.
 */
export async function isFresh(stampFile: string, ingredients: readonly string[]): Promise<boolean> {
  try {
    const stamp: { sources: string[]; key: string } = JSON.parse(await readFile(stampFile, 'utf8'))
    return stamp.key === (await contentKey(stamp.sources, ingredients))
  } catch (error) {
    // No stamp, half a stamp or a source that is gone: all of them say "build".
    if (error instanceof SyntaxError || (error instanceof Error && 'code' in error)) return false
    throw error
  }
}

/** What a binary was made from, to be kept beside it. */
export async function stampText(sources: readonly string[], ingredients: readonly string[]): Promise<string> {
  return JSON.stringify({ sources, key: await contentKey(sources, ingredients) })
}

/** Builds the static guest RPC tool for images without open-vm-tools; leaves `output` alone where it is as it should be. */
export async function guestinfoTool(output: string, architecture: Architecture): Promise<void> {
  const dir = join(import.meta.dirname, 'guestinfo')
  const built = await goBinary({ name: 'rollcall-guestinfo', dir, goos: 'linux', goarch: architecture })
  const [ours, theirs] = await Promise.all([readFile(built), readIfThere(output)])
  const licenses = `${output}.licenses.txt`
  if (theirs?.equals(ours) && (await canAccess(licenses))) return
  await writeFile(licenses, await goNotices(dir))
  // By way of another name, because a file that runs cannot be written to.
  const unfinished = `${output}.${process.pid}`
  await copyFile(built, unfinished)
  await rename(unfinished, output)
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

if (import.meta.main) runAsProgram(() => main(process.argv.slice(2)))
