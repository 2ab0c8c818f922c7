import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isUnified } from './cgroups.ts'

/** Why Pods cannot be run on this machine; undefined where they can. */
export function whyNot(): string | undefined {
  if (process.platform !== 'linux') return 'it needs Linux'
  if (process.arch !== 'x64') return 'only images for amd64 are tried'
  if (process.getuid?.() !== 0) return 'it needs root'
  for (const tool of ['unshare', 'nsenter', 'ip', 'mount'])
    if (fails('sh', ['-c', `command -v ${tool}`])) return `${tool} is not on the PATH (util-linux, iproute2)`
  if (!existsSync('/sys/fs/cgroup/memory') && !isUnified()) return 'there are no cgroups in /sys/fs/cgroup'
  const refused = fails('unshare', [...NAMESPACES, 'sh', '-euc', TRIAL])
  return refused && `the kernel or the sandbox refuses what it takes: ${refused}`
}

/** Of the test as a whole; it ends with its first process, and all that was started with it. */
export const NAMESPACES = [
  '--mount',
  '--net',
  '--uts',
  '--ipc',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
] as const

/** What is done later, in small. */
const TRIAL = `mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/all /mnt/cgroup
mount -t overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/all
ip link set lo up
ip link add one type veth peer name other
mount --move /sys/fs/cgroup /mnt/cgroup`

/** The first line of what a command says where it fails. */
function fails(command: string, args: readonly string[]): string | undefined {
  try {
    execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    return undefined
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : ''
    return said.split('\n')[0] || String(error)
  }
}
