import * as v from 'valibot'
import { attempt, failed, messageOf, ok, type Result } from '../../agent/shared/result.ts'
import type { ConfigSource } from '../config/load.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { createLeaseStore } from '../kubernetes/lease.ts'
import { collect } from '../kubernetes/list.ts'
import { PROVIDED_NODE_IP } from '../types/well-known.ts'
import { configOfCPI, objectReader, readSources } from './cpi-files.ts'
import { type CPIFindings, configuredCPI } from './cpi-in-cluster.ts'
import { DEFAULT_LEASE, findManagers, type Manager, type Managers } from './interlock/find-cpi.ts'
import { parseWorkload, type Workload } from './interlock/workloads.ts'
import { type BalancedService, readNSX, warnOfNSX } from './nsx.ts'

/** Of `k8s.io/cloud-provider/service/helpers`: set on a Service while a cloud provider has a load balancer for it. */
const FINALIZER = 'service.kubernetes.io/load-balancer-cleanup'

const Service = v.object({
  metadata: v.object({
    namespace: v.string(),
    name: v.string(),
    finalizers: v.nullish(v.array(v.string()), []),
  }),
  spec: v.object({
    type: v.optional(v.string(), ''),
    loadBalancerClass: v.nullish(v.string()),
    loadBalancerSourceRanges: v.nullish(v.array(v.string()), []),
    loadBalancerIP: v.nullish(v.string(), ''),
    allocateLoadBalancerNodePorts: v.nullish(v.boolean(), true),
    ports: v.nullish(v.array(v.object({ protocol: v.nullish(v.string(), 'TCP') })), []),
  }),
})

/** What `k8s.io/cloud-provider/controllers/route` says of a Node that it has looked at. */
const ROUTE_REASONS: ReadonlySet<string> = new Set(['RouteCreated', 'NoRouteCreated'])

const NodeCondition = v.object({ type: v.string(), reason: v.optional(v.string()) })
const NodeWithConditions = v.object({
  metadata: v.object({
    name: v.string(),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  status: v.object({ conditions: v.nullish(v.array(NodeCondition), []) }),
})

/**
 * Looks for the CPI in the whole cluster, with its environment, its file, and what uses it. ConfigMaps and Secrets that the
 * account may not read are named in the findings.
 *
 * @throws as `KubeClient.request`
 */
export async function readCPI(
  client: KubeClient,
  signal: AbortSignal,
): Promise<CPIFindings & { readonly configuration: ReturnType<typeof configurationOf> }> {
  const take = (kind: Workload['kind'], object: unknown) => {
    const workload = parseWorkload(kind, object)
    return workload && { kind, object, workload }
  }
  const workloads = await listWorkloads(client, undefined, take, signal)
  const readers = new Map<string, ReturnType<typeof objectReader>>()
  const readerOf = (namespace: string) => {
    const reader = readers.get(namespace) ?? objectReader(client, namespace, signal)
    readers.set(namespace, reader)
    return reader
  }
  const parsed: Workload[] = []
  for (const { kind, object, workload } of workloads) {
    const [found] = findManagers([workload]).cpi
    const sources = found?.variableSources ?? []
    const read = await readSources(readerOf(workload.namespace), sources)
    parsed.push((read.size > 0 && parseWorkload(kind, object, read)) || workload)
  }
  // Elsewhere anybody who may run a Pod may seem to be a CPI: one in kube-system comes first.
  const isElsewhere = ({ namespace }: Workload) => Number(namespace !== DEFAULT_LEASE.namespace)
  const managers = findManagers(parsed.toSorted((a, b) => isElsewhere(a) - isElsewhere(b)))
  const held = managers.cpi.find(({ lease }) => lease !== undefined)?.lease
  const lease = held && (await createLeaseStore(client, held.namespace, held.name).get(signal))
  const services = await collect(client, { path: '/api/v1/services' }, serviceOf, signal)
  const nodes = await collect(client, { path: '/api/v1/nodes' }, nodeOf, signal)
  const configured = configuredCPI(managers)
  const neighbor = managers.cpi.find(({ serves }) => serves.services || serves.routes)
  return {
    ...managers,
    lease: lease?.record,
    loadBalancers: services.flatMap(({ name, finalized }) => (finalized ? [name] : [])),
    routedNodes: nodes.flatMap(({ name, routed }) => (routed ? [name] : [])),
    configuration: configured.ok
      ? configurationOf(configured.value, readerOf(configured.value.namespace))
      : configured,
    nsx:
      neighbor === undefined
        ? ok([])
        : await lookAtNSX(
            neighbor,
            readerOf(neighbor.namespace),
            services.flatMap(({ balanced }) => balanced ?? []),
            nodes.flatMap(({ name, hasNodeIP }) => (hasNodeIP ? [] : [name])),
          ),
  }
}

/** The configuration of a CPI, as its Pod has it. */
function configurationOf(
  manager: Manager,
  read: ReturnType<typeof objectReader>,
): Result<{ readonly manager: Manager; readonly source: ConfigSource }> {
  const source = configOfCPI(manager, read)
  return source.ok ? ok({ manager, source: source.value }) : source
}

async function lookAtNSX(
  cpi: Manager,
  read: ReturnType<typeof objectReader>,
  services: readonly BalancedService[],
  withoutNodeIP: readonly string[],
): Promise<CPIFindings['nsx']> {
  const source = configOfCPI(cpi, read)
  if (!source.ok) return source
  const { path, readFile } = source.value
  const file = await attempt(() => readFile(path, Number.POSITIVE_INFINITY))
  if (!file.ok) return failed(messageOf(file.error))
  return ok(warnOfNSX(cpi, readNSX(Buffer.from(file.value).toString()), services, withoutNodeIP))
}

function nodeOf(object: unknown) {
  const parsed = v.safeParse(NodeWithConditions, object)
  if (!parsed.success) return undefined
  const { metadata, status } = parsed.output
  const routed = status.conditions?.some(
    ({ type, reason = '' }) => type === 'NetworkUnavailable' && ROUTE_REASONS.has(reason),
  )
  return { name: metadata.name, routed, hasNodeIP: metadata.annotations?.[PROVIDED_NODE_IP] !== undefined }
}

function serviceOf(object: unknown) {
  const parsed = v.safeParse(Service, object)
  if (!parsed.success) return undefined
  const { metadata, spec } = parsed.output
  const name = `${metadata.namespace}/${metadata.name}`
  const finalized = metadata.finalizers?.includes(FINALIZER) === true
  if (spec.type !== 'LoadBalancer' || spec.loadBalancerClass) return { name, finalized }
  const balanced: BalancedService = {
    name,
    sourceRanges: (spec.loadBalancerSourceRanges ?? []).length > 0,
    loadBalancerIP: Boolean(spec.loadBalancerIP),
    noNodePorts: spec.allocateLoadBalancerNodePorts === false,
    sctp: (spec.ports ?? []).some(({ protocol }) => protocol === 'SCTP'),
  }
  return { name, finalized, balanced }
}

async function listWorkloads<T>(
  client: KubeClient,
  namespace: string | undefined,
  take: (kind: Workload['kind'], object: unknown) => T | undefined,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const parent = `/apis/apps/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}`
  const found: T[] = []
  for (const kind of ['DaemonSet', 'Deployment'] as const) {
    const path = `${parent}/${kind.toLowerCase()}s`
    found.push(...(await collect(client, { path }, (object) => take(kind, object), signal)))
  }
  return found
}

/**
 * Looks for cloud controller managers, by nothing but DaemonSets and Deployments.
 *
 * @param namespace where; undefined for the whole cluster
 * @throws as `KubeClient.request`
 */
export async function readManagers(
  client: KubeClient,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Managers> {
  return findManagers(await listWorkloads(client, namespace, parseWorkload, signal))
}
