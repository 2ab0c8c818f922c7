/** Builds everything that is released, into dist/release/: `npm run release`. */
import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import * as v from 'valibot'
import { runAsProgram } from '../entry.ts'
import { currentSource, dist, root, type Source } from '../programs.ts'
import { nodeBinaries, nodePackage } from '../stripped-node.ts'
import { type Artifact, artifacts } from './artifacts.ts'
import { provenance, type Subject } from './provenance.ts'

const HELP = `usage: npm run release -- [options]

  --registry HOST/PATH  where the images will be: manifests and chart name them there
  --dirty               build although files differ from the commit
  --help                print this text
`

async function main(args: readonly string[]): Promise<void> {
  const { registry, dirty, help } = parseOptions(args)
  if (help) {
    process.stdout.write(HELP)
    return
  }
  await checkInstalled(root)
  const source = await currentSource()
  checkCommitted(source, dirty)
  const output = join(dist, 'release')
  const unfinished = join(dist, '.release')
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  const made: Subject[] = []
  const add = async ({ name, content }: Artifact) => {
    await writeFile(join(unfinished, name), content)
    made.push({ name, sha256: hash('sha256', content, 'hex') })
  }
  for await (const artifact of artifacts(source, registry)) await add(artifact)
  const statement = await provenance(source, await tools(), made)
  await add({ name: `rollcall-${source.version}.provenance.json`, content: statement })
  const sums = made.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
  await writeFile(join(unfinished, 'SHA256SUMS'), sums)
  await rm(output, { recursive: true, force: true })
  await rename(unfinished, output)
  process.stdout.write(`${output}\n${sums}`)
}

/** @throws Error where files differ from the commit, and nobody asked for that */
export function checkCommitted({ revision }: Pick<Source, 'revision'>, dirty: boolean): void {
  if (revision.endsWith('-dirty') && !dirty)
    throw new Error(
      'files differ from the commit (git status): commit them, or run npm run release -- --dirty for a build to try out',
    )
}

/**
 * Reads the options of `npm run release`.
 *
 * @throws Error that names the option
 */
export function parseOptions(args: readonly string[]) {
  const {
    registry,
    dirty = false,
    help = false,
  } = parseArgs({
    args: [...args],
    options: { registry: { type: 'string' }, dirty: { type: 'boolean' }, help: { type: 'boolean' } },
  }).values
  if (registry !== undefined && !/^[a-z0-9.-]+(:\d+)?(\/[a-z0-9._-]+)*$/.test(registry))
    throw new Error(
      `--registry is ${JSON.stringify(registry)}: give host and path, as registry.example.com/rollcall, without a scheme or a tag`,
    )
  return { registry, dirty, help }
}

async function tools() {
  const run = async (program: string, ...args: string[]) =>
    (await promisify(execFile)(program, args)).stdout.trim()
  const node = await run(join(root, nodePackage, 'bin/node'), '--version')
  const { version } = JSON.parse(await readFile(join(root, nodePackage, 'package.json'), 'utf8'))
  return { node, go: await run('go', 'env', 'GOVERSION'), nodeBinaries: await nodeBinaries(version) }
}

const Lockfile = v.object({
  packages: v.record(
    v.string(),
    v.object({ version: v.optional(v.string()), integrity: v.optional(v.string()) }),
  ),
})

/**
 * Compares what npm says that it installed with what the lockfile names, because a release says that it was built from the
 * latter. The files themselves are not looked at.
 *
 * @param folder has package-lock.json and node_modules
 * @throws Error that names the packages that differ
 */
export async function checkInstalled(folder: string): Promise<void> {
  const read = async (path: string) =>
    v.parse(Lockfile, JSON.parse(await readFile(join(folder, path), 'utf8'))).packages
  const named = await read('package-lock.json')
  const installed = await read('node_modules/.package-lock.json')
  const others = Object.entries(installed)
    .filter(([path, { version, integrity }]) => {
      const expected = named[path]
      return expected?.version !== version || expected?.integrity !== integrity
    })
    .map(([path]) => path)
  if (others.length > 0)
    throw new Error(`${others.join(', ')}: not what package-lock.json names; run npm ci, then again`)
}

if (import.meta.main) runAsProgram(() => main(process.argv.slice(2)))
