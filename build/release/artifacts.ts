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
import { cloudInit, ignition } from '../packages/first-boot.ts'
import { type Architecture, architectures, type ProgramName, root, type Source } from '../programs.ts'
import { typesPackage } from '../report-api.ts'
import { gzipped, type TarEntry, tar } from '../tar.ts'
import { billOfMaterials } from './sbom.ts'

/** A file of a release. */
export interface Artifact {
  readonly name: string
  readonly content: string | Buffer
}

const programNames: readonly ProgramName[] = ['rollcall-agent', 'rollcall-controller']

/**
 * The kinds in turn.
 *
 * @param registry host and path that manifests and chart name the images by
 */
export async function* artifacts(source: Source, registry?: string): AsyncGenerator<Artifact> {
  yield* binaries(source)
  yield* images(source)
  yield* packages(source)
  yield* billsOfMaterials(source)
  yield* manifests(source, registry)
  yield { name: `rollcall-${source.version}.tgz`, content: await packedChart(registry) }
  yield await typesPackage(source)
  yield* documents(source)
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
  const debs: Artifact[] = []
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
export async function* manifests({ version }: Source, registry?: string): AsyncGenerator<Artifact> {
  const kustomize = await goBinary({
    name: 'kustomize',
    dir: join(import.meta.dirname, 'kustomize'),
    package: 'sigs.k8s.io/kustomize/kustomize/v5',
    takes: '30 s',
  })
  const render = async (folder: string) => {
    const { stdout } = await promisify(execFile)(kustomize, ['build', folder], { maxBuffer: 1 << 26 })
    return inRegistry(stdout, registry)
  }
  const folder = join(root, 'manifests')
  yield { name: `rollcall-${version}.yaml`, content: await render(folder) }
  for (const overlay of (await readdir(join(folder, 'overlays'))).sort())
    yield {
      name: `rollcall-${version}-${overlay}.yaml`,
      content: await render(join(folder, 'overlays', overlay)),
    }
}

/** Names our images by a registry, in a manifest or in the chart's values. */
function inRegistry(text: string, registry: string | undefined): string {
  return registry === undefined ? text : text.replaceAll(/^( *image: )(rollcall-)/gm, `$1${registry}/$2`)
}

/** The examples that the docs name, and the docs, with the paths that they link to each other by. */
export async function* documents({ version }: Source): AsyncGenerator<Artifact> {
  const top = [
    'README.md',
    'CHANGELOG.md',
    'SECURITY.md',
    'RELEASE.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
    'LICENSE',
  ]
  const examples = ['config.example.yaml', 'credentials.example.yaml']
  const entries = await filesOf(join(root, 'docs'), `rollcall-${version}/docs`)
  for (const path of [...top, ...examples.map((name) => `manifests/${name}`)]) {
    const content = await readFile(join(root, path))
    entries.push({ type: 'file', path: `rollcall-${version}/${path}`, mode: 0o644, content })
  }
  for (const name of examples) yield { name, content: await readFile(join(root, 'manifests', name)) }
  yield { name: `rollcall-${version}-docs.tgz`, content: await gzipped(await tar(entries)) }
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
export async function packedChart(registry?: string): Promise<Buffer> {
  const files = await filesOf(join(root, 'manifests/chart/rollcall'), 'rollcall')
  const named = files.map((entry) =>
    entry.type === 'file' && entry.path === 'rollcall/values.yaml'
      ? { ...entry, content: Buffer.from(inRegistry(entry.content.toString(), registry)) }
      : entry,
  )
  return gzipped(await tar(named))
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
