import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BinaryName, binary, binaryNames } from '../binaries.ts'
import { type Architecture, architectures, type ProgramName, root, type Source } from '../programs.ts'
import type { TarEntry } from '../tar.ts'
import { debianPins, readDebianPackages } from './debian.ts'
import { type Image, imageArchive, layer, type PlatformImage } from './oci.ts'

/** What an image has beside its base. */
interface ImagePlan {
  readonly title: string
  readonly description: string
  readonly binaries: readonly BinaryName[]
  readonly user: string
  readonly env: readonly string[]
}

const plans: Readonly<Record<ProgramName, ImagePlan>> = {
  'rollcall-agent': {
    title: 'Rollcall agent',
    description: 'Reports what only this machine knows of itself to its Kubernetes cluster',
    binaries: ['rollcall-agent', 'rollcall-guestinfo'],
    // The kernel shows a machine's serial number and UUID to root alone.
    user: '0:0',
    env: [],
  },
  'rollcall-controller': {
    title: 'Rollcall controller',
    description: 'A vSphere cloud provider for Kubernetes that checks who a node is before it trusts it',
    binaries: ['rollcall-controller'],
    user: '65532:65532',
    // glibc gives each thread an arena of its own, which keeps what a burst has taken: 20 MB at 1,000 nodes.
    env: ['MALLOC_ARENA_MAX=1'],
  },
}

/** Builds the image of a program for `targets`. Its binaries lie in `/`, where there is nothing to run beside them. */
export async function programImage(
  name: ProgramName,
  source: Source,
  targets: readonly Architecture[] = architectures,
): ReturnType<typeof imageArchive> {
  const plan = plans[name]
  const platforms: PlatformImage[] = []
  for (const architecture of targets) platforms.push(await platformImage(name, plan, architecture))
  const labels = {
    'org.opencontainers.image.title': plan.title,
    'org.opencontainers.image.description': plan.description,
    'org.opencontainers.image.licenses': 'Apache-2.0',
    'org.opencontainers.image.version': source.version,
    'org.opencontainers.image.revision': source.revision,
    'org.opencontainers.image.created': source.created,
  }
  const image: Image = { name: `${name}:${source.version}`, labels, created: source.created, platforms }
  return imageArchive(image)
}

async function platformImage(
  name: ProgramName,
  { binaries, user, env }: ImagePlan,
  architecture: Architecture,
): Promise<PlatformImage> {
  const entries: TarEntry[] = []
  const texts: [path: string, from: string][] = [[`${name}/copyright`, join(root, 'LICENSE')]]
  for (const each of binaryNames(architecture).filter((each) => binaries.includes(each))) {
    const path = await binary(each, architecture)
    entries.push({ type: 'file', path: each, mode: 0o755, content: await readFile(path) })
    texts.push([`${each}/licenses.txt`, `${path}.licenses.txt`])
  }
  for (const [path, from] of texts) {
    const content = await readFile(from)
    entries.push({ type: 'file', path: `usr/share/doc/${path}`, mode: 0o644, content })
  }
  const layers = [
    await layer('glibc and libstdc++ of Debian', await baseLayer(architecture)),
    await layer(name, entries),
  ]
  return { architecture, layers, run: { user, entrypoint: [`/${name}`], env } }
}

/** What Node's binary loads, their licenses, and what scanners know a distribution by: of each package, by its paths. */
const wanted: Readonly<Record<string, RegExp>> = {
  'base-files': /^(etc|usr\/lib)\/os-release$/,
  'gcc-12-base': /^usr\/share\/doc\/gcc-12-base\/copyright$/,
  libc6:
    /^lib(64)?\/([^/]+\/)?(ld-linux-[^/]+|lib(c|m|dl|pthread)\.so\.\d+)$|^usr\/share\/doc\/libc6\/copyright$/,
  'libgcc-s1': /^lib\/[^/]+\/libgcc_s\.so\.1$|^usr\/share\/doc\/libgcc-s1$/,
  'libstdc++6': /^usr\/lib\/[^/]+\/libstdc\+\+\.so\.6(\.\d+)*$|^usr\/share\/doc\/libstdc\+\+6$/,
}

/** Accounts by their usual names, for what shows them; and where glibc looks up names of hosts. */
const written: Readonly<Record<string, string>> = {
  'etc/passwd': 'root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n',
  'etc/group': 'root:x:0:\nnonroot:x:65532:\n',
  'etc/nsswitch.conf': 'hosts: files dns\n',
}

/**
 * The files below our binaries: glibc and the C++ library, and nothing that could be run but the dynamic loader. No
 * certificates, because Node brings Mozilla's.
 */
async function baseLayer(architecture: Architecture): Promise<readonly TarEntry[]> {
  const pins = await debianPins()
  const packages = await readDebianPackages(
    pins,
    architecture,
    (name, path) => wanted[name]?.test(path) ?? false,
  )
  const text = (path: string, content: string): TarEntry => ({
    type: 'file',
    path,
    mode: 0o644,
    content: Buffer.from(content),
  })
  return [
    ...packages.flatMap(({ entries }) => entries),
    // Where scanners look for packages in images without dpkg.
    ...packages.map(({ control }, index) => text(`var/lib/dpkg/status.d/${pins[index]?.name}`, control)),
    ...Object.entries(written).map(([path, content]) => text(path, content)),
  ]
}
