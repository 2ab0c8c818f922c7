/** What `doctor` alone looks at: the kubelet, the settings of VMware Tools, and what the system says about itself. */
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse } from 'ini'
import { readSmallFile } from '../facts/files.ts'

/** A process that is a kubelet, or has one in it. */
export interface Kubelet {
  /** `kubelet`, `k3s`, `rke2`, ... */
  readonly program: string
  /** Whether its command line leaves Nodes to an external cloud provider. */
  readonly external: boolean
}

/** Processes that are looked at: more than any node has. */
const MAX_PROCESSES = 100_000
/** The kernel's own limit for a command line is larger, but not a kubelet's. */
const MAX_LINE = 128 * 1024

/** k3s has the kubelet in its own process; the others start one. */
const PROGRAMS: readonly string[] = ['kubelet', 'k3s', 'k3s-agent', 'k3s-server']

/**
 * Looks for a kubelet among the processes that can be seen: in a container, and without root, there are few.
 *
 * @returns a kubelet of its own rather than one within another program; undefined where none can be seen
 */
export function findKubelet(root: string): Kubelet | undefined {
  const proc = join(root, 'proc')
  let names: readonly string[]
  try {
    names = readdirSync(proc)
  } catch {
    // Nothing can be seen.
    return undefined
  }
  const found = names
    .filter((name) => /^\d+$/.test(name))
    .slice(0, MAX_PROCESSES)
    .flatMap((pid) => {
      const line = readSmallFile(join(proc, pid, 'cmdline'), MAX_LINE)
      const kubelet = line.ok ? kubeletOf(line.value.split('\0')) : undefined
      return kubelet === undefined ? [] : [kubelet]
    })
  return found.find(({ program }) => program === 'kubelet') ?? found[0]
}

function kubeletOf(words: readonly string[]): Kubelet | undefined {
  const [command = ''] = words
  // k3s writes `k3s agent` or `/usr/local/bin/k3s server` as its first word.
  const program = basename(command.split(' ')[0] ?? '')
  if (!PROGRAMS.includes(program)) return undefined
  const external = words.some(
    (word, index) =>
      /(^|[-=])cloud-provider=external$/.test(word) ||
      (word === '--cloud-provider' && words[index + 1] === 'external'),
  )
  return { program, external }
}

/** Where VMware Tools have their settings. */
export const TOOLS_CONF = '/etc/vmware-tools/tools.conf'

/** Many times the file that open-vm-tools ships, which is comments. */
const MAX_LENGTH = 256 * 1024

/**
 * What VMware Tools read from their section `[guestinfo]`: `poll-interval=0` ends the polling, `exclude-nics` is a list of
 * patterns in which `*` means any characters and `?` means one (open-vm-tools, `tools.conf`).
 *
 * @param interfaces names
 * @returns undefined where there is no such file, or none that can be read
 */
export function readToolsConf(root: string, interfaces: readonly string[]) {
  const text = readSmallFile(join(root, TOOLS_CONF), MAX_LENGTH)
  if (!text.ok) return undefined
  const { guestinfo } = parse(text.value)
  const setting = (key: string) => {
    const value: unknown = typeof guestinfo === 'object' && guestinfo !== null ? guestinfo[key] : undefined
    return typeof value === 'string' ? value : ''
  }
  const patterns = setting('exclude-nics').split(',').map(toRegExp)
  return {
    /** False where the guest's addresses are never gathered. */
    polls: Number.parseInt(setting('poll-interval'), 10) !== 0,
    /** Those of the machine's interfaces whose addresses vCenter does not learn. */
    excluded: interfaces.filter((name) => patterns.some((pattern) => pattern.test(name))),
  }
}

function toRegExp(pattern: string): RegExp {
  const literal = pattern.trim().replaceAll(/[\\^$.+|()[\]{}]/g, String.raw`\$&`)
  return new RegExp(`^${literal.replaceAll(/\*+/g, '.*').replaceAll('?', '.')}$`)
}

/** The names of their services, by distribution. */
const TOOLS = 'vmtoolsd,open-vm-tools'

/**
 * What the system says about itself, for people. The library runs several small programs, so only `doctor` uses it. Never
 * rejects. In an image without a shell the library returns empty texts and no error, so an empty text means nothing.
 */
export async function lookAtSystem() {
  const { osInfo, services, system } = await import('systeminformation')
  const [os, machine, tools] = await Promise.all([
    osInfo().catch(() => undefined),
    system().catch(() => undefined),
    services(TOOLS).catch(() => []),
  ])
  const distribution = [os?.distro, os?.release].filter(Boolean).join(' ')
  const known = tools.filter(({ running, startmode }) => running || startmode !== '')
  return {
    /** As `Debian GNU/Linux 13, kernel 6.12.0`; empty where nothing is known. */
    name: [distribution, os?.kernel && `kernel ${os.kernel}`].filter(Boolean).join(', '),
    /** The hypervisor that the system sees, as `VMware`; empty where it sees none, or cannot tell. */
    hypervisor: machine?.virtualHost ?? '',
    /** Whether VMware Tools run; undefined where no service manager can be asked. */
    toolsRun: known.length === 0 ? undefined : known.some(({ running }) => running),
  }
}
