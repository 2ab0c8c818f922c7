import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** The repository. */
export const root = join(import.meta.dirname, '..')

/** Where everything that is shipped comes to lie. */
export const dist = join(root, 'dist')

/**
 * What becomes one executable file each, by its name: Node, our bundle, and the options that Node runs it with. `entry` is the
 * TypeScript file that it starts with. It must not use top-level await: the bundle is CommonJS.
 */
export const programs = {
  'rollcall-agent': {
    entry: join(root, 'agent/main.ts'),
    // The first two keep a burst of garbage from growing the heap of every node by a factor of four. The others are for
    // the minutes between two reports: gc() gives memory back after each, and no compiler keeps code for so little work.
    execArgv: ['--max-semi-space-size=1', '--max-old-space-size=32', '--expose-gc', '--lite-mode'],
  },
  'rollcall-controller': {
    entry: join(root, 'controller/main.ts'),
    // The heap's limit is half of the memory limit in manifests/base/controller.yaml: TLS and what is in flight live outside of
    // it. A young generation of 12 MB instead of 48, and a first full collection at 32 MB, keep the memory low that a thousand new
    // Nodes take; one of 6 MB would save 5 MB more, for a tenth more CPU. A scavenge of so little is too short to be shared by
    // threads. Full collections are done in one go, with pauses of 0.17 s at most at 10,000 Nodes, as threads that mark beside the
    // program take more CPU. 1,000 Nodes need none; for 10,000 the heap may grow by 30 % between two: by 40 % the peak was 6 MB more,
    // by 24 % it was 7 MB less. The more it may grow, the less CPU they take. Without the optimizing compilers the peak would be 15 MB less,
    // and half again as slow. gc() gives back what a burst has left.
    execArgv: [
      '--max-semi-space-size=4',
      '--no-parallel-scavenge',
      '--initial-old-space-size=32',
      '--heap-growing-percent=30',
      '--no-incremental-marking',
      '--max-old-space-size=256',
      '--expose-gc',
    ],
  },
} as const

export type ProgramName = keyof typeof programs

/** What is shipped for: by the names that Go, Debian and container images use. */
export type Architecture = 'amd64' | 'arm64'

export const architectures: readonly Architecture[] = ['amd64', 'arm64']

/** Node's own names for them. */
const nodeNames = { amd64: 'x64', arm64: 'arm64' } as const satisfies Record<Architecture, string>

export function nodeArchitecture(architecture: Architecture): 'x64' | 'arm64' {
  return nodeNames[architecture]
}

/**
 * The architecture of this machine.
 *
 * @throws Error where nothing is shipped for it.
 */
export function hostArchitecture(): Architecture {
  const found = architectures.find((architecture) => nodeNames[architecture] === process.arch)
  if (found === undefined) throw new Error(`no build for ${process.arch}: use a machine with x64 or arm64`)
  return found
}

/** The folder in the user's cache for what takes long to build or download; it is reused from run to run. */
export function cacheFolder(
  holding: 'servers' | 'compiled' | 'packages' | 'machines',
  env: NodeJS.ProcessEnv,
): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'rollcall', holding)
}

/** What is built. */
export interface Source {
  /** As 0.1.0. */
  readonly version: string
  /** The commit, with `-dirty` behind it where files were changed since. */
  readonly revision: string
  /** When it was committed, RFC 3339 in UTC: what is built has this time in it, and is therefore the same each time. */
  readonly created: string
}

/**
 * The source in this repository.
 *
 * @throws Error where it is not a clone with git.
 */
export async function currentSource(): Promise<Source> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const [commit, time] = (await git('log', '-1', '--format=%H %ct')).trim().split(' ')
  const dirty = (await git('status', '--porcelain')) === '' ? '' : '-dirty'
  const created = new Date(Number(time) * 1000).toISOString().replace('.000Z', 'Z')
  return { version, revision: `${commit}${dirty}`, created }
}

async function git(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: root })
  return stdout
}
