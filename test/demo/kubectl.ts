import { execFile } from 'node:child_process'
import { delimiter, dirname } from 'node:path'
import { promisify } from 'node:util'
import { serverBinary } from '../servers/build.ts'
import type { DemoSite } from './site.ts'
import type { Terminal } from './terminal.ts'

export interface ShowContext {
  readonly terminal: Terminal
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

/** Prints a shell's command with kubectl in it and what it answers, as someone at that shell would see it. */
export async function showKubectl(
  { cluster, dir }: Pick<DemoSite, 'cluster' | 'dir'>,
  { terminal, env, signal }: ShowContext,
  command: string,
): Promise<void> {
  const folder = dirname(await serverBinary('kubectl', env))
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', command], {
    // Its cache of what the API server has goes into the home folder.
    env: { PATH: `${folder}${delimiter}${env.PATH ?? ''}`, KUBECONFIG: cluster.adminKubeconfig, HOME: dir },
    signal,
  })
  terminal.print('', terminal.style('bold', `$ ${command}`), stdout.trimEnd())
}
