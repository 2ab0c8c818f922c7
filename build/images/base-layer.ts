import type { Architecture } from '../architecture.ts'
import type { TarEntry } from '../tar.ts'
import { debianPins, readDebianPackages } from './debian.ts'

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
 * certificates, for Node brings Mozilla's.
 */
export async function baseLayer(architecture: Architecture): Promise<readonly TarEntry[]> {
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
