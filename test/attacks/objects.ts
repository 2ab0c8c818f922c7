import type { Cluster } from '../servers/cluster.ts'
import { collection } from '../world/service-account.ts'

/** Deletes a Pod at once, as where its kubelet has confirmed it. */
export async function deletePod(cluster: Cluster, namespace: string, name: string): Promise<void> {
  const { status } = await cluster.request(
    'DELETE',
    `${collection(namespace, 'Pod')}/${name}?gracePeriodSeconds=0`,
  )
  if (status !== 200) throw new Error(`Pod ${name} is not deleted: ${status}`)
}

/** A Pod of this account; on a node where one is given, without asking a scheduler. */
export function podOf(account: string, name: string, nodeName?: string) {
  return {
    kind: 'Pod',
    metadata: { name },
    spec: {
      ...(nodeName === undefined ? {} : { nodeName }),
      serviceAccountName: account,
      containers: [{ name: 'agent', image: 'rollcall-agent' }],
    },
  }
}
