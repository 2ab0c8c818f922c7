import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The version that open-vm-tools' daemon states of itself, as `12.3.5.46049`; undefined where it is not installed or
 * says something else. One short process; the answer changes with the package alone.
 */
export function readToolsVersion(root: string, signal: AbortSignal): Promise<string | undefined> {
  const tool = join(root, 'usr/bin/vmtoolsd')
  if (!existsSync(tool)) return Promise.resolve(undefined)
  const options = {
    env: { LC_ALL: 'C' },
    timeout: 5000,
    killSignal: 'SIGKILL',
    maxBuffer: 4096,
    signal,
  } as const
  return new Promise((resolve) => {
    // A daemon that cannot say its version is no obstacle to anything.
    execFile(tool, ['--version'], options, (_error, stdout) => {
      resolve(/version (\d+(?:\.\d+){1,4})\b/.exec(stdout)?.[1]?.slice(0, 64))
    })
  })
}
