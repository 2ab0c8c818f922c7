/** Builds everything that is released, into dist/release/: `npm run release`. */
import { createHash } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { architectures } from '../architecture.ts'
import { binary, binaryNames } from '../binaries.ts'
import { runAsProgram } from '../entry.ts'
import { programImage } from '../images/images.ts'
import { dist, type ProgramName } from '../programs.ts'
import { showProgress } from '../progress.ts'
import { currentSource, type Source } from '../source.ts'
import { billOfMaterials } from './sbom.ts'

/** A file of the release. */
interface Artifact {
  readonly name: string
  readonly content: string | Buffer
}

const programNames: readonly ProgramName[] = ['rollcall-agent', 'rollcall-controller']

async function main(): Promise<void> {
  const source = await currentSource()
  const output = join(dist, 'release')
  const unfinished = join(dist, '.release')
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true })
  for (const architecture of architectures)
    for (const name of binaryNames(architecture)) await binary(name, architecture)

  const sums: string[] = []
  for await (const { name, content } of artifacts(source)) {
    await writeFile(join(unfinished, name), content)
    sums.push(`${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
  }
  await writeFile(join(unfinished, 'SHA256SUMS'), sums.join(''))
  await rm(output, { recursive: true, force: true })
  await rename(unfinished, output)
  process.stdout.write(`${output}\n${sums.join('')}`)
}

async function* artifacts(source: Source): AsyncGenerator<Artifact> {
  const { version } = source
  for (const name of programNames) {
    const { archive, digest, sizes } = await step(`image of ${name}`, () => programImage(name, source))
    const each = architectures.map((architecture) => `${architecture} ${megabytes(sizes[architecture])}`)
    process.stderr.write(`${name}:${version} is ${digest}, compressed: ${each.join(', ')}\n`)
    yield { name: `${name}-${version}.oci.tar`, content: archive }
    yield { name: `${name}-${version}.cdx.json`, content: await billOfMaterials(name, source) }
  }
}

async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const done = showProgress(what)
  try {
    const result = await work()
    done('made')
    return result
  } catch (error) {
    done('failed')
    throw error
  }
}

function megabytes(bytes = 0): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

if (import.meta.main) runAsProgram(main)
