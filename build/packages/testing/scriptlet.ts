import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

/** The machine on which a package manager runs the scripts of a package. */
export interface PackageHost {
  /** systemd runs, as it does not in an image that is being built. */
  readonly booted?: boolean
  /** Files that are there, as "/etc/kubernetes/kubelet.conf". */
  readonly files?: readonly string[]
  /** What a shell runs in place of each tool, once the call is written down. */
  readonly tools: Readonly<Record<string, string>>
}

/** A call of a script: its name in scripts/, and the arguments that the package manager gives it. */
export type ScriptCall = readonly [script: string, ...args: string[]]

/**
 * Runs scripts one after the other, as a package manager does, and returns which of the host's tools they called, in
 * order. Each script must end well. Their /etc, /run and /var/lib are folders of the test.
 */
export function toolCalls(t: Test, calls: readonly ScriptCall[], host: PackageHost): string[] {
  const { booted = true, files = [], tools } = host
  const dir = t.testdir({ bin: {}, log: '' })
  const put = (path: string, text: string) => {
    mkdirSync(join(dir, path, '..'), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  if (booted) mkdirSync(join(dir, 'run/systemd/system'), { recursive: true })
  for (const path of files) put(path, '')
  for (const [name, body] of Object.entries(tools)) {
    put(`bin/${name}`, `#!/bin/sh\necho "${name} $*" >>'${dir}/log'\n${body}\n`)
    chmodSync(join(dir, 'bin', name), 0o755)
  }
  const env = { PATH: `${join(dir, 'bin')}:${process.env.PATH}` }
  for (const [name, ...args] of calls) {
    const text = readFileSync(join(import.meta.dirname, `../scripts/${name}.sh`), 'utf8')
    const here = text.replaceAll(/(?<=\s)\/(?=(?:etc|run|var\/lib)\/)/g, `${dir}/`)
    const { status, stderr } = spawnSync('sh', ['-c', here, name, ...args], { encoding: 'utf8', env })
    t.equal(status, 0, `${name} ${args.join(' ')}: ${stderr}`)
  }
  return readFileSync(join(dir, 'log'), 'utf8').trim().split('\n').filter(Boolean)
}
