import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
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
