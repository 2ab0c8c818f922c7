import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { serverBinary } from '../servers/build.ts'
import type { Site } from './site.ts'
import type { Terminal } from './terminal.ts'

/** Prints a kubectl command and what it answers, as someone at a shell would see it. */
export async function showKubectl(
  { cluster, dir }: Pick<Site, 'cluster' | 'dir'>,
  { terminal, env, signal }: { terminal: Terminal; env: NodeJS.ProcessEnv; signal: AbortSignal },
  ...args: string[]
): Promise<void> {
  const { stdout } = await promisify(execFile)(await serverBinary('kubectl', env), args, {
    // Its cache of what the API server has goes into the home folder.
    env: { KUBECONFIG: cluster.adminKubeconfig, HOME: dir },
    signal,
  })
  terminal.print('', terminal.style('bold', `$ kubectl ${args.join(' ')}`), stdout.trimEnd())
}
