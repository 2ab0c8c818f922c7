import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from './run-tool.ts'

/**
 * The version that open-vm-tools' daemon states of itself, as `12.3.5.46049`; undefined where it is not installed or
 * says something else, for a daemon that cannot say its version is no obstacle to anything. One short process; the
 * answer changes with the package alone.
 */
export async function readToolsVersion(root: string, signal: AbortSignal): Promise<string | undefined> {
  const tool = join(root, 'usr/bin/vmtoolsd')
  if (!existsSync(tool)) return undefined
  const env = { LC_ALL: 'C' }
  const result = await runTool(tool, ['--version'], { env, timeout: 5000, maxOutput: 4096, signal })
  if (result.kind !== 'ended') return undefined
  return /version (\d+(?:\.\d+){1,4})\b/.exec(result.stdout)?.[1]?.slice(0, 64)
}
