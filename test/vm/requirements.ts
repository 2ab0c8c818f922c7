import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Programs by the packages of Debian that bring them. */
const PACKAGES = {
  'qemu-system-x86_64': 'qemu-system-x86',
  mmdebstrap: 'mmdebstrap',
  mke2fs: 'e2fsprogs',
} as const

/** What this machine lacks to run a virtual machine, and what to do, in one line; undefined where it lacks nothing. */
export function missing(env: NodeJS.ProcessEnv, uid: number | undefined): string | undefined {
  const packages = Object.entries(PACKAGES).filter(([program]) => !isOnPath(program, env.PATH ?? ''))
  if (packages.length > 0) {
    const names = packages.map(([, name]) => name).join(' ')
    return `not installed: ${names}; install with: apt-get install --no-install-recommends ${names}`
  }
  return uid === 0 ? undefined : 'mmdebstrap makes the file system as root: run this as root'
}

function isOnPath(program: string, path: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
