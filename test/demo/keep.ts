import { once } from 'node:events'
import { serverBinary } from '../servers/build.ts'
import type { Site } from './site.ts'
import type { Terminal } from './terminal.ts'

/** Says how to look around, and waits for the signal. */
export async function keepRunning(
  { cluster, vcsim, controller, nodes }: Site,
  { terminal, env, signal }: { terminal: Terminal; env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<void> {
  const { style } = terminal
  const [first] = nodes
  const quoted = (value: string) => `'${value}'`
  terminal.print(
    '',
    style('bold', 'Everything goes on running. In another shell:'),
    '',
    `  export KUBECONFIG=${cluster.adminKubeconfig}`,
    `  alias kubectl=${await serverBinary('kubectl', env)}`,
    `  kubectl describe nodereport ${first?.name}`,
    `  kubectl get events`,
    '',
    `  export GOVC_URL=${vcsim.url}/sdk GOVC_TLS_CA_CERTS=${vcsim.certificateFile}`,
    `  export GOVC_USERNAME=${quoted(vcsim.username)} GOVC_PASSWORD=${quoted(vcsim.password)}`,
    // A session that govc kept would count as left behind by the controller.
    `  export GOVC_PERSIST_SESSION=false`,
    `  alias govc=${await serverBinary('govc', env)}`,
    `  govc vm.info -e ${first?.vm.name}`,
    '',
    `  curl ${controller.url}/metrics`,
    '',
    style('bold', 'Ctrl-C ends it.'),
  )
  if (!signal.aborted) await once(signal, 'abort')
}
