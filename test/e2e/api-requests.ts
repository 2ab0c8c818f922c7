import type { Cluster } from '../servers/cluster.ts'

/**
 * Begins to count the requests that the API server answers and that have all of these labels, by its own metrics: it
 * may have served other tests before.
 */
export async function countRequests(
  cluster: Cluster,
  labels: Partial<Record<'verb' | 'resource' | 'code', string>>,
): Promise<() => Promise<number>> {
  const before = await requests(cluster, labels)
  return async () => (await requests(cluster, labels)) - before
}

async function requests(cluster: Cluster, labels: Record<string, string>): Promise<number> {
  const { body } = await cluster.request<string>('GET', '/metrics')
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return body
    .split('\n')
    .filter(
      (line) => line.startsWith('apiserver_request_total{') && wanted.every((label) => line.includes(label)),
    )
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
