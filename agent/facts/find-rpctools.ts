import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'

/** The programs by which this machine can speak to its host, as far as they are there. */
export interface RpcTools {
  /** By the backdoor port: fast, and without any privilege. */
  readonly plain: string | undefined
  /** open-vm-tools' daemon, whose `--cmd` takes the privileged channel; slower. */
  readonly privileged: string | undefined
}

/**
 * Finds the guest RPC tools: the plain one is the host's own, else the helper `rollcall-guestinfo` beside this program,
 * as in the image. Costs a few system calls, so it can be asked again: packages are installed at any time.
 *
 * @param program path of the running program
 * @param named the plain tool where somebody named one; taken as it is
 */
export function findTools(root: string, program: string, named?: string): RpcTools {
  const helper = join(dirname(program), 'rollcall-guestinfo')
  return {
    plain: named ?? [join(root, 'usr/bin/vmware-rpctool'), helper].find(isExecutable),
    privileged: [join(root, 'usr/bin/vmtoolsd')].find(isExecutable),
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    // Not there or not executable: either way not the one to take.
    return false
  }
}
