import { accessSync, constants, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { runTool } from '../shared/run-process.ts'

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

/**
 * The version of open-vm-tools' daemon, as `12.3.5.46049`; undefined where it is not installed or prints something else,
 * which does not matter to anything else. Takes one short process; the version changes only with the package.
 */
export async function readToolsVersion(root: string, signal: AbortSignal): Promise<string | undefined> {
  const tool = join(root, 'usr/bin/vmtoolsd')
  if (!existsSync(tool)) return undefined
  const env = { LC_ALL: 'C' }
  const result = await runTool(tool, ['--version'], { env, timeout: 5000, maxOutput: 4096, signal })
  if (result.kind !== 'ended') return undefined
  return /version (\d+(?:\.\d+){1,4})\b/.exec(result.stdout)?.[1]?.slice(0, 64)
}
