import { copyFile, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Architecture } from './architecture.ts'
import { goBinary } from './go-command.ts'

/** Builds the static guest RPC tool for images without open-vm-tools; leaves `output` alone where it is as it should be. */
export async function guestinfoTool(output: string, architecture: Architecture): Promise<void> {
  const built = await goBinary({
    name: 'rollcall-guestinfo',
    dir: join(import.meta.dirname, 'guestinfo'),
    goos: 'linux',
    goarch: architecture,
  })
  const [ours, theirs] = await Promise.all([readFile(built), readIfThere(output)])
  if (theirs?.equals(ours)) return
  // By way of another name, for a file that runs cannot be written to.
  const unfinished = `${output}.${process.pid}`
  await copyFile(built, unfinished)
  await rename(unfinished, output)
}

async function readIfThere(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
