import { once } from 'node:events'
import { serverBinary } from '../servers/build.ts'
import type { DemoSite } from './site.ts'
import type { Terminal } from './terminal.ts'

/** Says how to look around, and waits for the signal. */
export async function keepRunning(
  { cluster, vcsim, controller, forger }: DemoSite,
  { terminal, env, signal }: { terminal: Terminal; env: NodeJS.ProcessEnv; signal: AbortSignal },
): Promise<void> {
  const { style } = terminal
  const { victim, pretense } = forger
  const quoted = (value: string) => `'${value}'`
  terminal.print(
    '',
    style('bold', 'Everything goes on running. In another shell:'),
    '',
    `  export KUBECONFIG=${cluster.adminKubeconfig}`,
    `  alias kubectl=${await serverBinary('kubectl', env)}`,
    `  kubectl describe nodereport ${victim.name}   # what was reported, what vCenter says, why it is proven`,
    `  kubectl describe nodereport ${pretense.name}   # and why this one is not`,
    `  kubectl describe node ${pretense.name}`,
    `  kubectl get events`,
    '',
    `  export GOVC_URL=${vcsim.url}/sdk GOVC_TLS_CA_CERTS=${vcsim.certificateFile}`,
    `  export GOVC_USERNAME=${quoted(vcsim.username)} GOVC_PASSWORD=${quoted(vcsim.password)}`,
    // A session that govc kept would count as left behind by the controller.
    `  export GOVC_PERSIST_SESSION=false`,
    `  alias govc=${await serverBinary('govc', env)}`,
    `  govc vm.info -e ${victim.vm.name}   # with guestinfo.rollcall.claim, by which the VM names its Node`,
    '',
    `  curl ${controller.url}/metrics`,
    '',
    'No kubelet and no garbage collector run here. So a Node whose VM you destroy stays Ready, and Rollcall keeps',
    'it (NodeReady); and the NodeReport of a Node that was deleted stays behind.',
    '',
    style('bold', 'Ctrl-C ends it.'),
  )
  if (!signal.aborted) await once(signal, 'abort')
}
