import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { serverBinary } from './build.ts'

export interface RpctoolOptions {
  vcsim: { controlUrl: string }
  /** The machine that the tool runs in: a reference's value or a name. */
  vm: string
  /** Commands that the hypervisor's policy forbids, as "info-set": they end with "Permission denied". */
  deny?: string[]
  /** Never answers, as a tool does whose hypervisor is busy. */
  hang?: boolean
}

/**
 * Puts a stand-in for vmware-rpctool into `dir`, which is one machine's own; resolves with its path.
 *
 * It has the tool's command line and needs no environment. Call it again to change what it does.
 */
export async function writeRpctool(
  dir: string,
  { vcsim, vm, deny = [], hang = false }: RpctoolOptions,
): Promise<string> {
  const binary = await serverBinary('rpctool')
  await mkdir(dir, { recursive: true })
  const path = join(resolve(dir), 'vmware-rpctool')
  await rm(path, { force: true })
  await symlink(binary, path)
  const control = new URL(vcsim.controlUrl).host
  await writeFile(join(dir, 'rpctool.json'), JSON.stringify({ control, vm, deny, hang }))
  return path
}
