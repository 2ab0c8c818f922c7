import type { KubeClient } from '../../kubernetes/client.ts'
import { readList } from '../../kubernetes/list.ts'
import { findManagers, type Managers, parseWorkload, type Workload } from './find-cpi.ts'

const RESOURCES = { DaemonSet: 'daemonsets', Deployment: 'deployments' } as const

/**
 * Looks for cloud controller managers.
 *
 * @param namespace where; undefined for the whole cluster
 * @throws as `KubeClient.request`
 */
export async function readManagers(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Managers> {
  const workloads: Workload[] = []
  const parent = `/apis/apps/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}`
  for (const kind of ['DaemonSet', 'Deployment'] as const) {
    const take = (object: unknown) => {
      const workload = parseWorkload(kind, object)
      if (workload !== undefined) workloads.push(workload)
    }
    await readList(client, { path: `${parent}/${RESOURCES[kind]}` }, take, signal)
  }
  return findManagers(workloads)
}
