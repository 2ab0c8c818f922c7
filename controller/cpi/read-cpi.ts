import * as v from 'valibot'
import type { KubeClient } from '../kubernetes/client.ts'
import { createLeaseStore } from '../kubernetes/lease.ts'
import { readList } from '../kubernetes/list.ts'
import type { CPIFindings } from './hand-over.ts'
import { findManagers, type Managers } from './interlock/find-cpi.ts'
import { parseWorkload, type Workload } from './interlock/workloads.ts'

/** Of `k8s.io/cloud-provider/service/helpers`: set on a Service while a cloud provider has a load balancer for it. */
const FINALIZER = 'service.kubernetes.io/load-balancer-cleanup'

const Service = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    finalizers: v.nullish(v.array(v.string()), []),
  }),
})

/** What `k8s.io/cloud-provider/controllers/route` says of a Node that it has looked at. */
const ROUTE_REASONS: ReadonlySet<string> = new Set(['RouteCreated', 'NoRouteCreated'])

const NodeCondition = v.object({ type: v.string(), reason: v.optional(v.string()) })
const NodeWithConditions = v.object({
  metadata: v.object({ name: v.string() }),
  status: v.object({ conditions: v.nullish(v.array(NodeCondition), []) }),
})

/** Looks for the CPI in the whole cluster. Throws as `KubeClient.request`. */
export async function readCPI(client: KubeClient, signal: AbortSignal): Promise<CPIFindings> {
  const managers = await readManagers(client, undefined, signal)
  const held = managers.cpi.find(({ lease }) => lease !== undefined)?.lease
  const lease = held && (await createLeaseStore(client, held.namespace, held.name).get(signal))
  return {
    ...managers,
    lease: lease?.record,
    loadBalancers: await loadBalancers(client, signal),
    routedNodes: await routedNodes(client, signal),
  }
}

async function routedNodes(client: KubeClient, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = []
  const isRouted = ({ type, reason = '' }: v.InferOutput<typeof NodeCondition>) =>
    type === 'NetworkUnavailable' && ROUTE_REASONS.has(reason)
  await readList(
    client,
    { path: '/api/v1/nodes' },
    (object) => {
      const parsed = v.safeParse(NodeWithConditions, object)
      if (parsed.success && parsed.output.status.conditions?.some(isRouted))
        found.push(parsed.output.metadata.name)
    },
    signal,
  )
  return found
}

async function loadBalancers(client: KubeClient, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = []
  await readList(
    client,
    { path: '/api/v1/services' },
    (object) => {
      const parsed = v.safeParse(Service, object)
      if (!parsed.success || !parsed.output.metadata.finalizers?.includes(FINALIZER)) return
      const { namespace, name } = parsed.output.metadata
      found.push(`${namespace}/${name}`)
    },
    signal,
  )
  return found
}

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
