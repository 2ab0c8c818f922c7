import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'

/** The installed programs by which this machine can talk to its host. */
export interface RpcTools {
  /** By the backdoor port: fast, and without any privilege. */
  readonly plain: string | undefined
  /** open-vm-tools' daemon, whose `--cmd` takes the privileged channel; slower. */
  readonly privileged: string | undefined
}

/**
 * Finds the guest RPC tools: the plain one is the host's own, else the helper `rollcall-guestinfo` beside this program,
 * as in the image. Costs only a few system calls, so it can be repeated: packages may be installed at any time.
 *
 * @param program path of the running program
 * @param named the plain tool from the command line, if any; used as it is
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
    // Missing or not executable.
    return false
  }
}
