import { type BinaryName, binary } from '../../build/binaries.ts'
import { type ServerName, serverBinary } from '../servers/build.ts'

/** What is quick to build comes first, so that a missing tool shows early. */
const SERVERS: readonly ServerName[] = ['vcsim', 'rpctool', 'govc', 'etcd', 'kube-apiserver', 'kubectl']
const PROGRAMS: readonly BinaryName[] = ['rollcall-controller', 'rollcall-agent']

const NOTICE_AFTER = 2000

export interface PrepareOptions {
  readonly env: NodeJS.ProcessEnv
  readonly signal: AbortSignal
  /** Told when there is something to build, which takes its time. */
  readonly onSlow: () => void
}

/** Builds what is not built yet: the servers from Go sources into the user's cache, the programs into dist/. */
export async function prepare({ env, signal, onSlow }: PrepareOptions): Promise<void> {
  const slow = setTimeout(onSlow, NOTICE_AFTER)
  try {
    for (const name of SERVERS) await serverBinary(name, env, signal)
    for (const name of PROGRAMS) {
      signal.throwIfAborted()
      await binary(name)
    }
  } finally {
    clearTimeout(slow)
  }
}
