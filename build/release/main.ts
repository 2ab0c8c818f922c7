/** Builds everything that is released, into dist/release/: `npm run release`. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runAsProgram } from '../entry.ts'
import { dist, root } from '../programs.ts'
import { currentSource } from '../source.ts'
import { nodePackage } from '../stripped-node.ts'
import { type Artifact, artifacts } from './artifacts.ts'
import { checkInstalled } from './installed.ts'
import { provenance, type Subject } from './provenance.ts'

async function main(): Promise<void> {
  await checkInstalled(root)
  const source = await currentSource()
  const output = join(dist, 'release')
  const unfinished = join(dist, '.release')
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  const made: Subject[] = []
  const add = async ({ name, content }: Artifact) => {
    await writeFile(join(unfinished, name), content)
    made.push({ name, sha256: createHash('sha256').update(content).digest('hex') })
  }
  for await (const artifact of artifacts(source)) await add(artifact)
  const statement = await provenance(source, await tools(), made)
  await add({ name: `rollcall-${source.version}.provenance.json`, content: statement })
  const sums = made.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join('')
  await writeFile(join(unfinished, 'SHA256SUMS'), sums)
  await rm(output, { recursive: true, force: true })
  await rename(unfinished, output)
  process.stdout.write(`${output}\n${sums}`)
}

async function tools() {
  const run = async (program: string, ...args: string[]) =>
    (await promisify(execFile)(program, args)).stdout.trim()
  const node = await run(join(root, nodePackage, 'bin/node'), '--version')
  return { node, go: await run('go', 'env', 'GOVERSION') }
}

if (import.meta.main) runAsProgram(main)
