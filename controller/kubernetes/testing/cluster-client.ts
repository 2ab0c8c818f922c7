import { systemClock } from '../../../agent/shared/clock.ts'
import type { Cluster } from '../../../test/servers/cluster.ts'
import { createKubeClient, type KubeClient, type KubeRequest } from '../client.ts'

/** A client of a real API server as its administrator. */
export function adminClient(cluster: Cluster): KubeClient {
  return createKubeClient({
    credentials: { kind: 'kubeconfig', path: cluster.adminKubeconfig },
    clock: systemClock,
    userAgent: 'test',
  })
}

/** The same client, telling of each request before it is sent. Throwing there keeps it from being sent. */
export function observed(client: KubeClient, onRequest: (request: KubeRequest) => void): KubeClient {
  return {
    async request(request) {
      onRequest(request)
      return client.request(request)
    },
    async stream(request, silence) {
      onRequest(request)
      return client.stream(request, silence)
    },
    close: () => client.close(),
  }
}

/** Does `count` things, eight at a time. */
export async function eightAtOnce(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    for (let index = next++; index < count; index = next++) await work(index)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}
