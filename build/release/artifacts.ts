/** What a release has: one function for each kind of file. */
import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binary, binaryNames } from '../binaries.ts'
import { showProgress } from '../entry.ts'
import { goBinary } from '../go-command.ts'
import { programImage } from '../images/images.ts'
import { agentPackage, packageFormats } from '../packages/agent-package.ts'
import { cloudInit, type Fetched, ignition } from '../packages/first-boot.ts'
import { type Architecture, architectures, type ProgramName, root, type Source } from '../programs.ts'
import { gzipped, type TarEntry, tar } from '../tar.ts'
import { billOfMaterials } from './sbom.ts'

/** A file of a release. */
export interface Artifact {
  readonly name: string
  readonly content: string | Buffer
}

const programNames: readonly ProgramName[] = ['rollcall-agent', 'rollcall-controller']

/** The kinds in turn. */
export async function* artifacts(source: Source): AsyncGenerator<Artifact> {
  yield* binaries(source)
  yield* images(source)
  yield* packages(source)
  yield* billsOfMaterials(source)
  yield* manifests(source)
  yield { name: `rollcall-${source.version}.tgz`, content: await packedChart() }
}

/** Each program by itself, and what brings the agent to machines without packages. */
async function* binaries({ version }: Source): AsyncGenerator<Artifact> {
  const unit = await readFile(join(root, 'manifests/rollcall-agent.service'), 'utf8')
  for (const architecture of architectures) {
    const programs: Record<string, { file: string; content: Buffer }> = {}
    for (const name of binaryNames(architecture)) {
      const content = await readFile(await binary(name, architecture))
      const file = `${name}-${version}-linux-${architecture}.gz`
      yield { name: file, content: await step(file, () => gzipped(content)) }
      if (name !== 'rollcall-controller') programs[name] = { file, content }
    }
    yield { name: `rollcall-agent-${version}-linux-${architecture}.ign`, content: ignition(unit, programs) }
  }
}

async function* images(source: Source): AsyncGenerator<Artifact> {
  for (const name of programNames) {
    const { archive, digest, sizes } = await step(`image of ${name}`, () => programImage(name, source))
    const size = (architecture: Architecture) =>
      `${((sizes[architecture] ?? 0) / 1e6).toFixed(1)} MB for ${architecture}`
    const fetched = architectures.map(size).join(', ')
    process.stderr.write(`${name}:${source.version} is ${digest}, compressed ${fetched}\n`)
    yield { name: `${name}-${source.version}.oci.tar`, content: archive }
  }
}

async function* packages(source: Source): AsyncGenerator<Artifact> {
  const debs: Fetched[] = []
  for (const format of packageFormats)
    for (const architecture of architectures) {
      const made = await step(`.${format} for ${architecture}`, () =>
        agentPackage(format, architecture, source),
      )
      yield made
      if (format === 'deb') debs.push(made)
    }
  yield {
    name: `rollcall-agent-${source.version}.cloud-init.yaml`,
    content: cloudInit(source.version, debs),
  }
}

async function* billsOfMaterials(source: Source): AsyncGenerator<Artifact> {
  for (const name of programNames)
    yield { name: `${name}-${source.version}.cdx.json`, content: await billOfMaterials(name, source) }
}

/** manifests/ as `kubectl apply --filename` takes it, and each overlay. */
async function* manifests({ version }: Source): AsyncGenerator<Artifact> {
  const kustomize = await goBinary({
    name: 'kustomize',
    dir: join(import.meta.dirname, 'kustomize'),
    package: 'sigs.k8s.io/kustomize/kustomize/v5',
    takes: '30 s',
  })
  const render = async (folder: string) => {
    const { stdout } = await promisify(execFile)(kustomize, ['build', folder], { maxBuffer: 1 << 26 })
    return stdout
  }
  const folder = join(root, 'manifests')
  yield { name: `rollcall-${version}.yaml`, content: await render(folder) }
  for (const overlay of (await readdir(join(folder, 'overlays'))).sort())
    yield {
      name: `rollcall-${version}-${overlay}.yaml`,
      content: await render(join(folder, 'overlays', overlay)),
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

/** The Helm chart as `helm package` would pack it, the manifests that it links to in it as files; the same bytes each time. */
export async function packedChart(): Promise<Buffer> {
  return gzipped(await tar(await filesOf(join(root, 'manifests/chart/rollcall'), 'rollcall')))
}

async function filesOf(folder: string, path: string): Promise<TarEntry[]> {
  const entries = (await readdir(folder)).map(async (name): Promise<TarEntry[]> => {
    const below = [join(folder, name), `${path}/${name}`] as const
    // What a link points to, not the link.
    if ((await stat(below[0])).isDirectory()) return filesOf(...below)
    return [{ type: 'file', path: below[1], mode: 0o644, content: await readFile(below[0]) }]
  })
  return (await Promise.all(entries)).flat()
}
