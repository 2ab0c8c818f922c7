import type { Cluster } from '../servers/cluster.ts'

/** How many requests the API server has answered that have all of these labels, by its own count. */
export async function apiRequests(
  cluster: Cluster,
  labels: Partial<Record<'verb' | 'resource' | 'code', string>>,
): Promise<number> {
  const { body } = await cluster.request<string>('GET', '/metrics')
  const wanted = Object.entries(labels).map(([name, value]) => `${name}="${value}"`)
  return body
    .split('\n')
    .filter(
      (line) => line.startsWith('apiserver_request_total{') && wanted.every((label) => line.includes(label)),
    )
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}
