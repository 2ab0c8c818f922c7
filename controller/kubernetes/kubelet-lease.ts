import * as v from 'valibot'
import { hasStatus } from './api-error.ts'
import type { KubeClient } from './client.ts'

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

const Lease = v.object({
  metadata: v.object({ uid: v.string() }),
  spec: v.nullish(v.object({ renewTime: v.nullish(v.string(), '') }), {}),
})

/**
 * A text that changes with each renewal of a kubelet's Lease, every ten seconds while the kubelet lives
 * (nodeLeaseDurationSeconds / 4). A constant text where there is no Lease.
 *
 * @throws as `KubeClient.request`, except for 404; Error for an answer that is not a Lease
 */
export async function heartbeatOf(
  client: KubeClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<string> {
  const path = `${LEASES}/${encodeURIComponent(nodeName)}`
  let answer: unknown
  try {
    answer = await client.request({ method: 'GET', path, signal })
  } catch (error) {
    if (hasStatus(error, 404)) return 'none'
    throw error
  }
  const lease = v.safeParse(Lease, answer)
  if (!lease.success) throw new Error(`GET ${path} was answered with an object that is not a Lease`)
  return `${lease.output.metadata.uid} ${lease.output.spec?.renewTime ?? ''}`
}
