/** Asks which replica leads. */
import type { Cluster } from '../servers/cluster.ts'
import type { Controller } from './controller.ts'

export async function isLeading(controller: Controller): Promise<boolean> {
  return (await controller.readyz()).startsWith('leading')
}

/** Whether it stands by and knows that the replica of this `--identity` leads, to which each process adds a suffix. */
export async function standsBy(controller: Controller, leader: string): Promise<boolean> {
  return new RegExp(`^standby; ${leader}_[0-9a-f]{8} leads`).test(await controller.readyz())
}

/** When it last logged this message, RFC 3339 by the clock on the wall. */
export function said({ stderr }: Controller, message: string): string {
  const line = stderr.findLast((text) => text.includes(`"msg":"${message}"`))
  if (line === undefined) throw new Error(`nobody said "${message}"`)
  return JSON.parse(line).time
}

interface LeaseSpec {
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
