import * as v from 'valibot'
import { attempt, failed, messageOf, ok, type Result } from '../../agent/shared/result.ts'
import type { ConfigSource } from '../config/load.ts'
import { Secret } from '../config/secret.ts'
import { hasStatus } from '../kubernetes/api-error.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { createLeaseStore } from '../kubernetes/lease.ts'
import { readList } from '../kubernetes/list.ts'
import { type CPIFindings, configuredCPI } from './findings.ts'
import { type ReadSources, sourceText, type VariableSource } from './interlock/container-environment.ts'
import { DEFAULT_LEASE, findManagers, type Manager, type Managers, nameOf } from './interlock/find-cpi.ts'
import { type ConfigKey, findKey, parseWorkload, type Workload } from './interlock/workloads.ts'
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
/** A kubelet that has both `--node-ip` and an external cloud provider writes it. */
const PROVIDED_NODE_IP = 'alpha.kubernetes.io/provided-node-ip'

const NodeCondition = v.object({ type: v.string(), reason: v.optional(v.string()) })
const NodeWithConditions = v.object({
  metadata: v.object({
    name: v.string(),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  status: v.object({ conditions: v.nullish(v.array(NodeCondition), []) }),
})

/** The configuration of a CPI, as its Pod has it. */
interface OwnConfiguration {
  readonly manager: Manager
  readonly source: ConfigSource
}

/**
 * Looks for the CPI in the whole cluster, with its environment, its file, and what uses it. ConfigMaps and Secrets that the
 * account may not read are named in the findings.
 *
 * @throws as `KubeClient.request`
 */
export async function readCPI(
  client: KubeClient,
  signal: AbortSignal,
): Promise<CPIFindings & { readonly configuration: Result<OwnConfiguration> }> {
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
  const services = await collect(client, '/api/v1/services', serviceOf, signal)
  const nodes = await collect(client, '/api/v1/nodes', nodeOf, signal)
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

function configurationOf(manager: Manager, read: ReturnType<typeof objectReader>): Result<OwnConfiguration> {
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

const RESOURCES = { DaemonSet: 'daemonsets', Deployment: 'deployments' } as const

async function listWorkloads<T>(
  client: KubeClient,
  namespace: string | undefined,
  take: (kind: Workload['kind'], object: unknown) => T | undefined,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const parent = `/apis/apps/v1${namespace === undefined ? '' : `/namespaces/${namespace}`}`
  const found: T[] = []
  for (const kind of ['DaemonSet', 'Deployment'] as const) {
    const path = `${parent}/${RESOURCES[kind]}`
    found.push(...(await collect(client, path, (object) => take(kind, object), signal)))
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

const texts = v.nullish(v.record(v.string(), v.string()), {})
const Contents = v.object({ data: texts, binaryData: texts })

/** What a ConfigMap or a Secret has, by key. Functions, so that nothing prints it by accident. */
type ReadObject = Result<ReadonlyMap<string, () => Buffer>>

/** Reads each ConfigMap and Secret of a namespace once; an error is one sentence. */
function objectReader(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): (object: VariableSource) => Promise<ReadObject> {
  const reading = new Map<string, Promise<ReadObject>>()
  async function read({ kind, name }: VariableSource): Promise<ReadObject> {
    const path = `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${encodeURIComponent(name)}`
    const answer = await attempt(async () =>
      v.parse(Contents, await client.request({ method: 'GET', path, signal })),
    )
    signal.throwIfAborted()
    if (!answer.ok) return failed(unreadable(`${kind} ${namespace}/${name}`, answer.error))
    const { data, binaryData } = answer.value
    const decode = (from: Readonly<Record<string, string>> | null, encoding: 'utf8' | 'base64') =>
      Object.entries(from ?? {}).map(([key, text]) => [key, () => Buffer.from(text, encoding)] as const)
    return ok(
      new Map([...decode(binaryData, 'base64'), ...decode(data, kind === 'Secret' ? 'base64' : 'utf8')]),
    )
  }
  return (object) => {
    const key = sourceText(object)
    const known = reading.get(key) ?? read(object)
    reading.set(key, known)
    return known
  }
}

function unreadable(what: string, error: unknown): string {
  if (hasStatus(error, 404)) return `${what} does not exist`
  if (hasStatus(error, 403))
    return `this account may not get ${what}; use the kubeconfig of an account that may`
  return `${what} cannot be read: ${messageOf(error)}`
}

/** Reads what gives a CPI its environment; what cannot be read is left out. */
async function readSources(
  read: ReturnType<typeof objectReader>,
  sources: readonly VariableSource[],
): Promise<ReadSources> {
  const contents = await Promise.all(
    sources.map(async (source) => [sourceText(source), await read(source)] as const),
  )
  return new Map(
    contents.flatMap(([source, found]) => {
      if (!found.ok) return []
      const values = [...found.value].map(([key, bytes]) => [key, new Secret(bytes().toString())] as const)
      return [[source, new Map(values)] as const]
    }),
  )
}

/**
 * The CPI's configuration as its Pod has it: its file, the files that it names, and no other. The environment is not part of it.
 *
 * @returns an error that says what to do
 */
function configOfCPI(cpi: Manager, read: ReturnType<typeof objectReader>): Result<ConfigSource> {
  const instead = 'name its vsphere.conf with --config'
  const { cloudConfig: path } = cpi.flags
  if (path === undefined) return failed(`${nameOf(cpi)} has no --cloud-config; ${instead}`)
  if (cpi.config === undefined)
    return failed(
      `${nameOf(cpi)} reads ${path}, which is not in a ConfigMap or Secret that it mounts; copy that file, and ${instead}`,
    )
  return ok({
    path,
    async readFile(path) {
      const key = findKey(cpi.mounts, path)
      const contents = key && (await read(objectOf(key)))
      if (contents?.ok === false) throw new Error(`${path}: ${contents.message}; or ${instead}`)
      const bytes = key && contents?.value.get(key.key)
      if (bytes === undefined) throw notThere(path)
      return bytes()
    },
    async readFolder(path) {
      const mount = cpi.mounts.find((each) => each.path === path && each.subPath === '')
      if (mount === undefined) throw notThere(path)
      if (mount.items) return mount.items.map((item) => item.path)
      const contents = await read(objectOf(mount))
      if (!contents.ok) throw new Error(`${path}: ${contents.message}; or ${instead}`)
      return [...contents.value.keys()]
    },
  })
}

function objectOf({ kind, name }: Pick<ConfigKey, 'kind' | 'name'>): VariableSource {
  return { kind: kind === 'secret' ? 'Secret' : 'ConfigMap', name }
}

function notThere(path: string): Error {
  return Object.assign(new Error(`${path} is not among the CPI's files`), { code: 'ENOENT' })
}
