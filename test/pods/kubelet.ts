import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import { renderKubeconfig } from '../servers/kubeconfig.ts'
import type { Server } from '../servers/processes.ts'
import { SERVICE_ADDRESS } from '../servers/start-cluster.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import type { NamespacedMachine } from './machine.ts'

export interface KubeletProcessOptions {
  readonly cluster: Cluster
  /** Containerd's. */
  readonly socket: string
  /** An existing cgroup, from the root of each hierarchy. */
  readonly cgroup: string
  /** As kubeadm has them for control-plane Nodes. */
  readonly taints: readonly { readonly key: string; readonly effect: string }[]
}

/** Starts a machine's kubelet, for a cloud provider of its own; it registers a Node of the machine's name. */
export async function startKubelet(
  machine: NamespacedMachine,
  options: KubeletProcessOptions,
): Promise<Server> {
  const { cluster } = options
  const at = (path: string) => join(machine.dir, path)
  await mkdir(at('kubelet'), { recursive: true })
  const client = await cluster.clientCertificate(kubeletIdentity(machine.name))
  await writeFile(
    at('kubelet.kubeconfig'),
    renderKubeconfig(`https://${SERVICE_ADDRESS}`, cluster.caFile, client),
  )
  await writeFile(at('kubelet.yaml'), stringify(configuration(at, options)))
  return machine.start({
    name: `kubelet of ${machine.name}`,
    command: await serverBinary('kubelet'),
    args: [
      '--cloud-provider=external',
      `--config=${at('kubelet.yaml')}`,
      `--kubeconfig=${at('kubelet.kubeconfig')}`,
      `--root-dir=${at('kubelet')}`,
      `--cert-dir=${at('kubelet/pki')}`,
    ],
    ready: async () => {
      const { status } = await cluster.request('GET', `/api/v1/nodes/${machine.name}`)
      if (status !== 200) throw new Error(`there is no Node: ${status}`)
    },
  })
}

function configuration(at: (path: string) => string, options: KubeletProcessOptions) {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${options.socket}`,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: options.cgroup,
    failCgroupV1: false,
    failSwapOn: false,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: options.cluster.caFile },
    },
    authorization: { mode: 'Webhook' },
    serverTLSBootstrap: true,
    registerWithTaints: options.taints,
    podLogsDir: at('pods'),
    volumePluginDir: at('volume-plugins'),
    // What the machine of the test lacks is no matter of these Pods.
    evictionHard: { 'memory.available': '1Mi' },
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
  }
}
