import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { debianPins } from '../images/debian.ts'
import { architectures, root, type Source } from '../programs.ts'

/** A file of a release, by its hash in hexadecimal. */
export interface Subject {
  readonly name: string
  readonly sha256: string
}

/** What the tools of a build were, as they say themselves, and the binaries of Node that it took out of npm's packages. */
export interface Tools {
  readonly node: string
  readonly go: string
  readonly nodeBinaries: readonly {
    readonly package: string
    readonly path: string
    readonly sha256: string
  }[]
}

/** Something of in-toto that has a hash. */
interface Resource {
  readonly name?: string
  readonly uri?: string
  readonly digest: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/**
 * What a release was built from: a statement of in-toto with the predicate of SLSA, version 1, which nobody has signed. It
 * has no times, so that the same source gives the same statement.
 */
export async function provenance(
  { version, revision, created }: Source,
  { nodeBinaries, ...tools }: Tools,
  subjects: readonly Subject[],
): Promise<string> {
  const [commit = '', dirty] = revision.split('-')
  const source = {
    name: 'source',
    digest: { gitCommit: commit },
    ...(dirty !== undefined && { annotations: { changedSince: true } }),
  }
  const binaries = nodeBinaries.map((each): Resource => {
    return { name: `${each.package}#${each.path}`, digest: { sha256: each.sha256 } }
  })
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map(({ name, sha256 }): Resource => ({ name, digest: { sha256 } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://rollcall.dev/npm-run-release/v1',
        externalParameters: { version },
        internalParameters: { created, ...tools },
        resolvedDependencies: [source, ...binaries, ...(await npmPackages()), ...(await debianPackages())],
      },
      runDetails: { builder: { id: 'https://rollcall.dev/npm-run-release/v1' } },
    },
  }
  return `${JSON.stringify(statement, undefined, 2)}\n`
}

/**
 * All that the lockfile has: what builds a program decides what it becomes, too. The digests are the lockfile's words for the
 * archives, which npm compared when it installed them; nobody compares what lies in node_modules since. Go's modules are in
 * go.sum in the source.
 */
async function npmPackages(): Promise<Resource[]> {
  const lockfile: { packages: Record<string, { version?: string; integrity?: string }> } = JSON.parse(
    await readFile(join(root, 'package-lock.json'), 'utf8'),
  )
  const found = new Map<string, Resource>()
  for (const [folder, { version, integrity }] of Object.entries(lockfile.packages)) {
    if (version === undefined || !integrity?.startsWith('sha512-')) continue
    const name = folder.replace(/^.*node_modules\//, '').replace('@', '%40')
    const uri = `pkg:npm/${name}@${version}`
    const sha512 = Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')
    found.set(uri, { uri, digest: { sha512 }, annotations: { digestFrom: 'package-lock.json' } })
  }
  return [...found.values()]
}

async function debianPackages(): Promise<Resource[]> {
  const pins = await debianPins()
  return architectures.flatMap((architecture) =>
    pins.map(({ name, version, sha256 }) => ({
      uri: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}`,
      digest: { sha256: sha256[architecture] },
    })),
  )
}
