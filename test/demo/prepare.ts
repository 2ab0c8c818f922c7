import { type BinaryName, binary } from '../../build/binaries.ts'
import { type ServerName, serverBinary } from '../servers/build.ts'

/** What is quick to build comes first, so that a missing tool shows early. */
const SERVERS: readonly ServerName[] = ['vcsim', 'rpctool', 'govc', 'etcd', 'kube-apiserver', 'kubectl']
const PROGRAMS: readonly BinaryName[] = ['rollcall-controller', 'rollcall-agent']

export interface PrepareOptions {
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
}

/** Builds what is not built yet: the servers from Go sources into the user's cache, the programs into dist/. */
export async function prepare({ env, signal }: PrepareOptions): Promise<void> {
  for (const name of SERVERS) await serverBinary(name, env, signal)
  for (const name of PROGRAMS) {
    signal.throwIfAborted()
    await binary(name)
  }
}
