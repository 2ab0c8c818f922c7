import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { type Architecture, nodeArchitecture, root } from './programs.ts'
import { nodePackage } from './stripped-node.ts'

export interface Executable {
  /** The bundled program, in a folder that is this build's alone. */
  readonly entry: string
  /** The Node binary that it goes into, and what that is for. */
  readonly nodePath: string
  readonly architecture: Architecture
  /** An absolute path. */
  readonly output: string
  /** Options that Node runs the program with. */
  readonly execArgv: readonly string[]
  /** As 24.21.0. */
  readonly nodeVersion: string
}

/**
 * Makes one executable file of Node and a program.
 *
 * In a process of its own, as the packer changes the working folder and writes to the terminal.
 */
export async function makeExecutable(executable: Executable): Promise<void> {
  // The packer works in a folder that it makes in here, one step from the bundle.
  const work = dirname(executable.entry)
  await fillCache(join(work, '.pkg-cache/sea'), executable)
  // The program is prepared by the same version of Node that will run it: what it becomes differs even between two patches.
  const node = join(root, nodePackage, 'bin/node')
  try {
    await promisify(execFile)(node, [import.meta.filename, JSON.stringify(executable)], {
      cwd: root,
      env: { ...process.env, HOME: work, TMPDIR: work },
    })
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().slice(-2000) : ''
    throw new Error(`packing ${executable.output} failed: ${said || String(error)}`, { cause: error })
  }
}

/**
 * Makes the packer believe that it has already downloaded Node. It can be given a binary, but would run it, which fails for
 * another architecture.
 */
async function fillCache(cache: string, { nodePath, nodeVersion, architecture }: Executable): Promise<void> {
  const name = `node-v${nodeVersion}-linux-${nodeArchitecture(architecture)}`
  const bin = join(cache, name, 'bin')
  await mkdir(bin, { recursive: true })
  await symlink(nodePath, join(bin, 'node'))
  for (const mark of [`${name}.tar.gz`, `${name}.tar.gz.ok`, `${name}/bin/node.ok`])
    await writeFile(join(cache, mark), '')
}

async function pack({ entry, architecture, output, execArgv, nodeVersion }: Executable) {
  // The part that can take a configuration. Not public, hence its version is pinned.
  const packer: {
    default(
      entry: string,
      options: {
        targets: { platform: string; arch: string; nodeRange: string; output: string }[]
        seaConfig: Record<string, unknown>
      },
    ): Promise<void>
  } = createRequire(import.meta.url)('@yao-pkg/pkg/lib-es5/sea.js')
  await packer.default(entry, {
    targets: [
      { platform: 'linux', arch: nodeArchitecture(architecture), nodeRange: `node${nodeVersion}`, output },
    ],
    seaConfig: {
      // Its path stays in the binary, where a full one would name the machine it was built on.
      main: join('..', basename(entry)),
      execArgv,
      // A program with rights must not take orders from NODE_OPTIONS or --node-options.
      execArgvExtension: 'none',
      // Builds are identical byte by byte without it. With it the controller starts in 110 ms rather than 180, the
      // agent in the same 40.
      useCodeCache: false,
    },
  })
}

if (import.meta.main) await pack(JSON.parse(process.argv[2] ?? ''))
