import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serverBinary } from '../servers/build.ts'
import { SERVICE_ADDRESS, startCluster } from '../servers/start-cluster.ts'
import { REQUESTS, type RequestObject } from '../world/certificates.ts'
import { startControlPlane } from '../world/control-plane.ts'
import type { NodeObject } from '../world/objects.ts'
import { type AnyObject, type Recording, record } from '../world/recorder.ts'
import { endsOf, openServers, type StageServers } from '../world/stage.ts'
import { openFront } from '../world/vcenter-front.ts'

/** vCenter's, of which the machines know the way. */
export const VCENTER_ADDRESS = '10.255.0.1'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'

export interface LeaseObject extends AnyObject {
  readonly spec: { readonly holderIdentity?: string }
}

/** A whole control plane and a vCenter, in a network namespace of their own. */
export interface PodsStage extends Omit<StageServers, 'dir'>, AsyncDisposable {
  readonly nodes: Recording<NodeObject>
  readonly leases: Recording<LeaseObject>
  readonly requests: Recording<RequestObject>
  /** Runs kubectl as administrator; resolves with its output. */
  kubectl(...args: string[]): Promise<string>
}

/** How long certificates last: a kubelet asks for the next one after seven to nine tenths of it. */
const CERTIFICATE_MINUTES = 4

/** Starts everything but the machines. */
export async function openPodsStage(folder: string): Promise<PodsStage> {
  await ip('link', 'set', 'lo', 'up')
  // What kube-proxy and a router would do: the addresses are this end's, whatever NIC they are asked for at.
  for (const address of [SERVICE_ADDRESS, VCENTER_ADDRESS])
    await ip('address', 'add', `${address}/32`, 'dev', 'lo')
  const stack = new AsyncDisposableStack()
  const { cluster, vcsim } = await openServers(
    endsOf(stack),
    { vms: 4, clusters: 2, apiVersion: '8.0.3.0' },
    () => startCluster({ runsPods: true }),
  )
  const port = Number(new URL(cluster.url).port)
  for (const front of [
    await openFront({ host: '127.0.0.1', port }, SERVICE_ADDRESS),
    await openFront(vcsim, VCENTER_ADDRESS),
  ])
    stack.defer(() => front.close())
  const started = await Promise.all([
    startControlPlane(cluster, 'kube-scheduler'),
    startControlPlane(cluster, 'kube-controller-manager', [
      `--root-ca-file=${cluster.caFile}`,
      `--service-account-private-key-file=${cluster.tokenKeyFile}`,
      `--cluster-signing-cert-file=${cluster.caFile}`,
      `--cluster-signing-key-file=${cluster.caKeyFile}`,
      `--cluster-signing-duration=${CERTIFICATE_MINUTES}m`,
    ]),
  ])
  for (const each of started) stack.use(each)
  const kubectl = await serverBinary('kubectl')
  const options = [`--kubeconfig=${cluster.adminKubeconfig}`, `--cache-dir=${join(folder, 'kubectl')}`]
  await mkdir(join(folder, 'kubectl'))
  return {
    cluster,
    vcsim,
    nodes: stack.use(await record<NodeObject>(cluster, '/api/v1/nodes')),
    leases: stack.use(await record<LeaseObject>(cluster, LEASES)),
    requests: stack.use(await record<RequestObject>(cluster, REQUESTS)),
    kubectl: async (...args) => (await promisify(execFile)(kubectl, [...options, ...args])).stdout,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function ip(...args: string[]): Promise<void> {
  await promisify(execFile)('ip', args)
}
