import { execFile } from 'node:child_process'
import { access, copyFile, mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './programs.ts'

const run = promisify(execFile)

/** The package that holds Node's official binary for this machine. */
export const nodePackage = `node_modules/node-linux-${process.arch}`

/**
 * A copy of Node's binary without its symbols, 18 MB smaller, made once in `dir`.
 *
 * It has to happen before the program goes in: strip breaks a binary that has one. Where the machine has no strip, the
 * binary stays as it is and `say` gets one line on that.
 */
export async function strippedNode(
  dir: string,
  version: string,
  say: (line: string) => void,
): Promise<string> {
  const stripped = join(dir, `node-${version}-${process.arch}`)
  if (await exists(stripped)) return stripped
  await mkdir(dir, { recursive: true })
  const unfinished = `${stripped}.${process.pid}`
  const original = join(root, nodePackage, 'bin/node')
  try {
    await copyFile(original, unfinished)
    await run('strip', ['--strip-all', unfinished])
    await rename(unfinished, stripped)
    return stripped
  } catch (error) {
    await rm(unfinished, { force: true })
    if (!isMissing(error)) throw new Error(`cannot strip ${original}`, { cause: error })
    say('no "strip" on the PATH: the binaries stay 18 MB larger; install binutils for smaller ones')
    return original
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
