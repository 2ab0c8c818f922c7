import { Agent } from 'undici'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import { freePort } from '../servers/ports.ts'
import { startServer } from '../servers/processes.ts'

/** After so long without a renewal of its kubelet's Lease a Node is no longer ready. */
const GRACE = '25s'

/**
 * Starts the real kube-controller-manager with what a cluster without cloud needs of it: it calls silent Nodes not ready
 * and taints them, and takes away the reports of those that are gone.
 */
export async function startControllerManager(cluster: Cluster): Promise<AsyncDisposable> {
  const port = await freePort()
  // It makes a certificate for itself.
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  const server = await startServer({
    name: 'kube-controller-manager',
    command: await serverBinary('kube-controller-manager'),
    args: [
      `--kubeconfig=${cluster.adminKubeconfig}`,
      `--cert-dir=${cluster.dir}/kube-controller-manager`,
      '--bind-address=127.0.0.1',
      `--secure-port=${port}`,
      '--leader-elect=false',
      '--controllers=node-lifecycle-controller,taint-eviction-controller,garbage-collector-controller',
      `--node-monitor-grace-period=${GRACE}`,
      '--node-monitor-period=2s',
    ],
    async ready() {
      const { statusCode, body } = await agent.request({
        origin: `https://127.0.0.1:${port}`,
        path: '/healthz',
        method: 'GET',
      })
      await body.dump()
      if (statusCode !== 200) throw new Error(`healthz answers ${statusCode}`)
    },
  })
  await agent.close()
  return { [Symbol.asyncDispose]: () => server.stop() }
}
