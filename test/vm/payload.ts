/** What the machine has at /payload. */
import { execFile } from 'node:child_process'
import { copyFile, cp, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { agentPackage } from '../../build/packages/agent-package.ts'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import { writeRpctool } from '../servers/rpctool.ts'
import type { Vcsim } from '../servers/vcsim.ts'
import { kubeletFiles } from './kubelet.ts'
import { HOST } from './machine.ts'

export interface PayloadOptions {
  readonly cluster: Cluster
  readonly vcsim: Vcsim
  readonly vm: VcsimVM
  /** Of the Node. */
  readonly node: string
  /** Versions of the package, which differ in nothing else. */
  readonly versions: readonly string[]
  readonly dir: string
}

/**
 * Writes a file system with `kubelet`, `runtime`, `VERSION.deb`, in `tools/` the stand-in for vmware-rpctool, and in `files/`
 * what belongs to the kubelet, by its path; resolves with the path of the disk.
 */
export async function writePayload({
  cluster,
  vcsim,
  vm,
  node,
  versions,
  dir,
}: PayloadOptions): Promise<string> {
  const folder = join(dir, 'payload')
  await mkdir(folder)
  for (const name of ['kubelet', 'runtime'] as const)
    await copyFile(await serverBinary(name), join(folder, name))
  await Promise.all(
    versions.map(async (version) => {
      const source = { version, revision: 'none', created: '2026-01-01T00:00:00Z' }
      await writeFile(join(folder, `${version}.deb`), (await agentPackage('deb', 'amd64', source)).content)
    }),
  )
  const control = new URL(vcsim.controlUrl)
  control.hostname = HOST
  const tools = join(dir, 'tools')
  await writeRpctool(tools, { vcsim: { controlUrl: control.href }, vm: vm.ref })
  await cp(tools, join(folder, 'tools'), { recursive: true, dereference: true })
  for (const [path, text] of Object.entries(await kubeletFiles(cluster, node))) {
    const file = join(folder, 'files', path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text, { mode: 0o600 })
  }
  const disk = join(dir, 'payload.img')
  await promisify(execFile)('mke2fs', ['-q', '-t', 'ext4', '-O', '^has_journal', '-d', folder, disk, '512M'])
  return disk
}
