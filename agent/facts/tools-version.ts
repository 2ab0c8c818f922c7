import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runTool } from './run-tool.ts'

/**
 * The version of open-vm-tools' daemon, as `12.3.5.46049`; undefined where it is not installed or prints something else,
 * which does not matter to anything else. Takes one short process; the version changes only with the package.
 */
export async function readToolsVersion(root: string, signal: AbortSignal): Promise<string | undefined> {
  const tool = join(root, 'usr/bin/vmtoolsd')
  if (!existsSync(tool)) return undefined
  const env = { LC_ALL: 'C' }
  const result = await runTool(tool, ['--version'], { env, timeout: 5000, maxOutput: 4096, signal })
  if (result.kind !== 'ended') return undefined
  return /version (\d+(?:\.\d+){1,4})\b/.exec(result.stdout)?.[1]?.slice(0, 64)
}
