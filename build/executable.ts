import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './programs.ts'

export interface Executable {
  /** The bundled program. */
  readonly entry: string
  /** The Node binary that it goes into. */
  readonly nodePath: string
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
  try {
    await promisify(execFile)(process.execPath, [import.meta.filename, JSON.stringify(executable)], {
      cwd: root,
      // The packer works in a folder that it makes in here, one step from the bundle.
      env: { ...process.env, TMPDIR: dirname(executable.entry) },
    })
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().slice(-2000) : ''
    throw new Error(`packing ${executable.output} failed: ${said || String(error)}`, { cause: error })
  }
}

/** The part of the packer that can take a Node binary and a configuration. Not public, hence its version is pinned. */
interface Packer {
  default(
    entry: string,
    options: {
      nodePath: string
      targets: { platform: string; arch: string; nodeRange: string; output: string }[]
      seaConfig: Record<string, unknown>
    },
  ): Promise<void>
}

async function pack({ entry, nodePath, output, execArgv, nodeVersion }: Executable) {
  const packer: Packer = createRequire(import.meta.url)('@yao-pkg/pkg/lib-es5/sea.js')
  await packer.default(entry, {
    nodePath,
    targets: [{ platform: 'linux', arch: process.arch, nodeRange: `node${nodeVersion}`, output }],
    seaConfig: {
      // Its path stays in the binary, where a full one would tell of the machine it was built on.
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
