import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binary } from '../binaries.ts'
import { bundle } from '../bundle.ts'
import { debianPins } from '../images/debian.ts'
import {
  architectures,
  nodeArchitecture,
  type ProgramName,
  programs,
  root,
  type Source,
} from '../programs.ts'
import { nodePackage } from '../stripped-node.ts'

const run = promisify(execFile)

/** A part of a program, in the form of CycloneDX 1.6. */
interface Component {
  readonly type: 'application' | 'library' | 'platform'
  readonly group?: string
  readonly name: string
  readonly version: string
  readonly purl: string
  readonly 'bom-ref': string
  readonly cpe?: string
  readonly hashes?: readonly { readonly alg: 'SHA-256' | 'SHA-512'; readonly content: string }[]
  readonly licenses?: readonly { readonly expression: string }[]
  readonly components?: readonly Component[]
}

/**
 * The software bill of materials of a program, its packages and its images: what is bundled of npm's packages, Node and
 * what that is made of, Debian's packages below it, and Go's modules. CycloneDX 1.6 in JSON, the same bytes each time.
 */
export async function billOfMaterials(name: ProgramName, source: Source): Promise<string> {
  const components = [
    ...(await npmComponents(name)),
    ...(await nodeComponents()),
    ...(await debianComponents()),
    ...(name === 'rollcall-agent' ? await goComponents(await binary('rollcall-guestinfo', 'amd64')) : []),
  ]
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: source.created,
      component: {
        type: 'application',
        name,
        version: source.version,
        'bom-ref': name,
        licenses: [{ expression: 'Apache-2.0' }],
      },
    },
    components,
    dependencies: [{ ref: name, dependsOn: components.map((component) => component['bom-ref']) }],
  }
  return `${JSON.stringify(bom, undefined, 2)}\n`
}

/** A package URL is also a good name for it within the file. */
function component(
  purl: string,
  fields: Omit<Component, 'purl' | 'bom-ref' | 'type'> & Partial<Pick<Component, 'type'>>,
): Component {
  return { type: 'library', ...fields, purl, 'bom-ref': purl }
}

async function npmComponents(name: ProgramName): Promise<Component[]> {
  const temporary = await mkdtemp(join(tmpdir(), 'rollcall-sbom-'))
  try {
    const { packages } = await bundle(programs[name].entry, join(temporary, 'bundle.cjs'))
    const lockfile = await readLockfile()
    // One version can lie in several folders.
    const byUrl = new Map(
      packages.map((folder) => npmComponent(folder, lockfile)).map((each) => [each.purl, each]),
    )
    return [...byUrl.values()]
  } finally {
    await rm(temporary, { recursive: true })
  }
}

interface Locked {
  readonly version: string
  readonly license: string
  /** As `sha512-`, with base64 behind it. */
  readonly integrity: string
}

async function readLockfile(): Promise<(folder: string) => Locked> {
  const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
  return (folder) => {
    const found = packages[folder]
    if (found === undefined) throw new Error(`package-lock.json has no ${folder}: npm install`)
    return found
  }
}

function npmComponent(folder: string, lockfile: (folder: string) => Locked): Component {
  const { version, license, integrity } = lockfile(folder)
  const [last = '', scope] = folder
    .replace(/^.*node_modules\//, '')
    .split('/')
    .reverse()
  return component(
    `pkg:npm/${scope === undefined ? '' : `${encodeURIComponent(scope)}/`}${last}@${version}`,
    {
      ...(scope !== undefined && { group: scope }),
      name: last,
      version,
      hashes: [{ alg: 'SHA-512', content: hexOf(integrity) }],
      licenses: [{ expression: license }],
    },
  )
}

function hexOf(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ''), 'base64').toString('hex')
}

async function nodeComponents(): Promise<Component[]> {
  const lockfile = await readLockfile()
  const { stdout } = await run(join(root, nodePackage, 'bin/node'), [
    '-p',
    'JSON.stringify(process.versions)',
  ])
  const versions: Record<string, string> = JSON.parse(stdout)
  // Itself, numbers of interfaces, and what is left out of this build.
  const parts = Object.entries(versions).filter(
    ([name, version]) => version !== '' && !['node', 'modules', 'napi', 'unicode'].includes(name),
  )
  return architectures.map((architecture) => {
    const node = npmComponent(`node_modules/node-linux-${nodeArchitecture(architecture)}`, lockfile)
    return {
      ...node,
      type: 'platform',
      cpe: `cpe:2.3:a:nodejs:node.js:${node.version}:*:*:*:*:*:*:*`,
      components: parts.map(([name, version]) => ({
        ...component(`pkg:generic/${name}@${encodeURIComponent(version)}`, { name, version }),
        'bom-ref': `${node['bom-ref']}#${name}`,
      })),
    }
  })
}

async function debianComponents(): Promise<Component[]> {
  const pins = await debianPins()
  return architectures.flatMap((architecture) =>
    pins.map(({ name, version, sha256 }) =>
      component(
        `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=debian-12`,
        { name, version, hashes: [{ alg: 'SHA-256', content: sha256[architecture] }] },
      ),
    ),
  )
}

async function goComponents(file: string): Promise<Component[]> {
  const { stdout } = await run('go', ['version', '-m', file])
  const go = /: go(\S+)/.exec(stdout)?.[1] ?? ''
  const modules = [...stdout.matchAll(/^\tdep\t(\S+)\t(\S+)/gm)].map(([, name = '', version = '']) => ({
    name,
    version,
  }))
  return [{ name: 'stdlib', version: go }, ...modules].map((module) =>
    component(`pkg:golang/${module.name}@${module.version}`, module),
  )
}
