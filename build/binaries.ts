/** Builds the binaries for this machine into dist/: `node build/binaries.ts [name...]`. */
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Architecture, hostArchitecture } from './architecture.ts'
import { bundle } from './bundle.ts'
import { runAsProgram } from './entry.ts'
import { makeExecutable } from './executable.ts'
import { isFresh, stampText } from './freshness.ts'
import { guestinfoTool } from './guestinfo-tool.ts'
import { notices } from './licenses.ts'
import { withLock } from './lock.ts'
import { type BundledProgram, dist, type ProgramName, programs, root } from './programs.ts'
import { showProgress } from './progress.ts'
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
  { entry, execArgv }: BundledProgram,
  architecture: Architecture,
  output: string,
): Promise<void> {
  const { version } = await packageFile('package.json')
  const node = await packageFile(join(nodePackage, 'package.json'))
  const lockfile = await readFile(join(root, 'package-lock.json'), 'utf8')
  const ingredients = [entry, ...execArgv, version, node.version, architecture, lockfile]
  const stampFile = join(workFolder, `${name}-${architecture}.stamp`)
  if ((await isFresh(stampFile, ingredients)) && (await isThere(output))) return

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

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

async function main(names: readonly string[]): Promise<void> {
  const all = binaryNames(hostArchitecture())
  for (const name of names.length > 0 ? names : all) {
    const known = all.find((candidate) => candidate === name)
    if (!known) throw new RangeError(`unknown binary ${JSON.stringify(name)}, known are ${all.join(', ')}`)
    process.stdout.write(`${await binary(known)}\n`)
  }
}

if (import.meta.main) runAsProgram(() => main(process.argv.slice(2)))
