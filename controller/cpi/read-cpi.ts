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
    loadBalancers: await collect(client, '/api/v1/services', loadBalancer, signal),
    routedNodes: await collect(client, '/api/v1/nodes', routedNode, signal),
  }
}

/** The objects of a list as `take` reads them, without those for which it returns undefined. */
async function collect<T>(
  client: KubeClient,
  path: string,
  take: (object: unknown) => T | undefined,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const found: T[] = []
  const keep = (object: unknown): void => {
    const taken = take(object)
    if (taken !== undefined) found.push(taken)
  }
  await readList(client, { path }, keep, signal)
  return found
}

function routedNode(object: unknown): string | undefined {
  const parsed = v.safeParse(NodeWithConditions, object)
  if (!parsed.success) return undefined
  const { metadata, status } = parsed.output
  const isRouted = status.conditions?.some(
    ({ type, reason = '' }) => type === 'NetworkUnavailable' && ROUTE_REASONS.has(reason),
  )
  return isRouted ? metadata.name : undefined
}

function loadBalancer(object: unknown): string | undefined {
  const parsed = v.safeParse(Service, object)
  if (!parsed.success || !parsed.output.metadata.finalizers?.includes(FINALIZER)) return undefined
  const { namespace, name } = parsed.output.metadata
  return `${namespace}/${name}`
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
  const parent = `/apis/apps/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}`
  const workloads: Workload[] = []
  for (const kind of ['DaemonSet', 'Deployment'] as const) {
    const take = (object: unknown) => parseWorkload(kind, object)
    workloads.push(...(await collect(client, `${parent}/${RESOURCES[kind]}`, take, signal)))
  }
  return findManagers(workloads)
}
