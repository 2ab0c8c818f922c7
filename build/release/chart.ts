import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { root } from '../programs.ts'
import { gzipped, type TarEntry, tar } from '../tar.ts'

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
