import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { serverBinary } from './build.ts'

export interface RpctoolOptions {
  vcsim: { controlUrl: string }
  /** The machine that the tool runs in: a reference's value or a name. */
  vm: string
  /**
   * Commands, as "info-set", for which the VM's settings ask for the privileged channel: by vmware-rpctool they end with
   * "Permission denied".
   */
  deny?: string[]
  /** Commands that the host takes by no channel, as with isolation.tools.setinfo.disable. */
  disable?: string[]
  /** vmware-rpctool never answers, as where the hypervisor is busy. */
  hang?: boolean
  /** What vmtoolsd does with a command; where it is left out, there is no vmtoolsd. */
  vmtoolsd?: 'works' | 'refused' | 'fails' | 'hangs'
}

/**
 * Puts stand-ins for open-vm-tools' programs into `dir`, which is one machine's own; resolves with the path of
 * vmware-rpctool.
 *
 * They have the programs' command lines and need no environment. Call it again to change what they do.
 */
export async function writeRpctool(
  dir: string,
  { vcsim, vm, deny = [], disable = [], hang = false, vmtoolsd }: RpctoolOptions,
): Promise<string> {
  const binary = await serverBinary('rpctool')
  await mkdir(dir, { recursive: true })
  const control = new URL(vcsim.controlUrl).host
  const settings = { control, vm, deny, disable, hang, privileged: vmtoolsd }
  await writeFile(join(dir, 'rpctool.json'), JSON.stringify(settings))
  for (const name of ['vmware-rpctool', 'vmtoolsd']) {
    const path = join(resolve(dir), name)
    if (name === 'vmtoolsd' && vmtoolsd === undefined) {
      await rm(path, { force: true })
      continue
    }
    // By way of another name: an agent that runs meanwhile misses nothing.
    await rm(`${path}.new`, { force: true })
    await symlink(binary, `${path}.new`)
    await rename(`${path}.new`, path)
  }
  return join(resolve(dir), 'vmware-rpctool')
}
