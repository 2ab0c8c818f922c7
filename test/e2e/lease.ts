import type { Cluster } from '../servers/cluster.ts'

export interface LeaseSpec {
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly leaseTransitions: number
  readonly acquireTime: string
  readonly renewTime: string
}

/** What the Lease of the controllers says. */
export async function lease(cluster: Cluster): Promise<LeaseSpec> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rollcall-controller'
  const { status, body } = await cluster.request<{ spec: LeaseSpec }>('GET', path)
  if (status !== 200) throw new Error(`there is no Lease: ${status}`)
  return body.spec
}
