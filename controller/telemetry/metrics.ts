import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { ApiError } from '../../agent/shared/api-error.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import type { ConfigMetrics } from '../config/watch.ts'
import type { KubeClient, KubeRequest } from '../kubernetes/client.ts'
import type { NodeLoopMetrics } from '../loops/node/loop.ts'
import type { LoopPorts } from '../loops/table.ts'
import { addCpiMetrics, type CpiMetrics } from './cpi-metrics.ts'
import { addAgentMetrics, addNodeMetrics, type NodeMetrics } from './node-metrics.ts'
import { addVCenterMetrics, type VCenterMetrics } from './vcenter-metrics.ts'

/** All metrics of the controller; each part is passed what it reports to. */
export interface Metrics
  extends VCenterMetrics,
    Omit<NodeMetrics, 'forgetNodes'>,
    WorkMetrics,
    ReturnType<typeof addAgentMetrics>,
    Omit<CpiMetrics, 'initialized'>,
    ConfigMetrics {
  /** Whether this replica leads. When it stops leading, metrics that only a leader has are reset. */
  leading(is: boolean): void
  /** The same client, with its requests counted. */
  measured(client: KubeClient): KubeClient
  /** The text that Prometheus reads. */
  text(): Promise<string>
  readonly contentType: string
}

/**
 * Creates a registry of its own, so that two controllers in one process do not share metrics.
 *
 * @param options.lease the name of the Lease
 */
export function createMetrics(options: {
  readonly version: string
  readonly lease: string
  readonly clock: Clock
}): Metrics {
  const { version, lease, clock } = options
  const registry = new Registry()
  addProcessMetrics(registry, version, clock.now())
  const vCenters = addVCenterMetrics(registry)
  const { initialized, ...cpi } = addCpiMetrics(registry, lease, clock)
  const nodes = addNodeMetrics(registry, clock, initialized)
  const work = addWorkMetrics(registry)
  const agents = addAgentMetrics(registry)
  const queueDepth = (read: () => number): void => {
    work.queueDepth(read)
    cpi.queueDepth(read)
  }
  return {
    ...vCenters,
    ...nodes,
    ...work,
    ...agents,
    ...cpi,
    ...addConfigMetrics(registry),
    ...addApiMetrics(registry),
    leading(is) {
      work.leading(is)
      cpi.leading(is)
      if (is) return
      nodes.forgetNodes()
      vCenters.vCentersUp(() => [])
      queueDepth(() => 0)
      cpi.queueActive(() => [])
      work.policyInForce(() => false)
      work.cpiRuns(() => false)
      agents.agentVersions(() => [])
    },
    queueDepth,
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}

interface WorkMetrics extends Pick<NodeLoopMetrics, 'reconciled' | 'queueDepth'> {
  leading(is: boolean): void
  /** Whether the report policy was seen to refuse, read at each scrape of the leader. */
  policyInForce(read: () => boolean): void
  /** Whether Nodes are left to a vSphere CPI, read at each scrape of the leader. */
  cpiRuns(read: () => boolean): void
  certificateJudged: LoopPorts['metrics']['certificateJudged']
  /** Events since the start, read at each scrape. */
  events(read: () => { readonly written: number; readonly dropped: number }): void
}

function addWorkMetrics(registry: Registry): WorkMetrics {
  const registers = [registry]
  const leader = new Gauge({
    name: 'rollcall_leader',
    help: '1 while this replica leads, else 0',
    registers,
  })
  const reconciles = new Counter({
    name: 'rollcall_reconciles_total',
    help: 'Reconciles of Nodes by outcome',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['done', 'retry', 'error']) reconciles.inc({ outcome }, 0)
  const durations = new Histogram({
    name: 'rollcall_reconcile_duration_seconds',
    help: 'Duration of one reconcile, including writes',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 15, 30],
    registers,
  })
  const queueDepth = addReadGauge(registry, 'rollcall_queue_depth', 'Nodes in the work queue', () => 0)
  const policyInForce = addReadGauge(
    registry,
    'rollcall_policy_in_force',
    '1 on the leader while trial writes of forged reports are refused, else 0',
    () => false,
  )
  const cpiRuns = addReadGauge(
    registry,
    'rollcall_cpi_runs',
    '1 on the leader while it leaves Nodes to a vSphere CPI, else 0',
    () => false,
  )
  const certificates = new Counter({
    name: 'rollcall_certificate_requests_judged_total',
    help: 'Judgments of certificate requests of kubelets, by reason; one that stays as it was is not counted again',
    labelNames: ['reason'],
    registers,
  })
  let readEvents = () => ({ written: 0, dropped: 0 })
  addReadCounter(
    registry,
    'rollcall_events_written_total',
    'Requests that wrote an Event',
    () => readEvents().written,
  )
  addReadCounter(
    registry,
    'rollcall_events_dropped_total',
    'Events that were dropped',
    () => readEvents().dropped,
  )
  return {
    leading: (is) => leader.set(is ? 1 : 0),
    reconciled(seconds, outcome) {
      reconciles.inc({ outcome })
      durations.observe(seconds)
    },
    queueDepth,
    policyInForce,
    cpiRuns,
    certificateJudged: (reason) => certificates.inc({ reason }),
    events(read) {
      readEvents = read
    },
  }
}

/** Adds a gauge that is read at each scrape; returns what replaces its reader. */
function addReadGauge<T extends number | boolean>(
  registry: Registry,
  name: string,
  help: string,
  first: () => T,
) {
  let read = first
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(Number(read()))
    },
  })
  return (next: () => T): void => {
    read = next
  }
}

/** Adds a counter that is counted elsewhere, and read at each scrape. */
function addReadCounter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

function addConfigMetrics(registry: Registry): ConfigMetrics {
  const registers = [registry]
  const valid = new Gauge({
    name: 'rollcall_config_valid',
    help: '1 while the configuration files are valid and in force, 0 while they are refused',
    registers,
  })
  const loaded = new Gauge({
    name: 'rollcall_config_last_load_timestamp_seconds',
    help: 'Time when the configuration was last read and found valid',
    registers,
  })
  return {
    configTaken(at) {
      valid.set(1)
      loaded.set(at)
    },
    configRefused: () => valid.set(0),
  }
}

/**
 * The process under its conventional metric names, read when somebody asks. prom-client's own set keeps a timer for the
 * event loop's lag and an observer of the garbage collector: 4 ms of CPU each second at rest, 4 MB of memory.
 */
function addProcessMetrics(registry: Registry, version: string, startedAt: number): void {
  const registers = [registry]
  new Gauge({
    name: 'rollcall_build_info',
    help: '1, with the versions of this program and of Node.js',
    labelNames: ['version', 'node'],
    registers,
  }).set({ version, node: process.version }, 1)
  addReadCounter(registry, 'process_cpu_seconds_total', 'CPU time of this process, user and system', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  addReadGauge(registry, 'process_resident_memory_bytes', 'Resident memory of this process', () =>
    process.memoryUsage.rss(),
  )
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start of this process, seconds since the epoch',
    registers,
  }).set(startedAt / 1000)
  addReadGauge(
    registry,
    'nodejs_heap_size_used_bytes',
    'JavaScript heap in use',
    () => process.memoryUsage().heapUsed,
  )
}

/** The API server's own statuses. A proxy may send any other, and each would become a time series forever. */
const STATUSES: ReadonlySet<number> = new Set([
  200, 201, 400, 401, 403, 404, 408, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504,
])

function addApiMetrics(registry: Registry): Pick<Metrics, 'measured'> {
  const requests = new Counter({
    name: 'rollcall_api_requests_total',
    help: 'Requests to the API server by method (WATCH for the start of a watch), resource and code: ok, an HTTP status, other for an unusual one, none without an answer',
    labelNames: ['method', 'resource', 'code'],
    registers: [registry],
  })

  async function count<T>(request: KubeRequest, answer: Promise<T>): Promise<T> {
    const method = request.query?.watch === undefined ? request.method : 'WATCH'
    const resource = resourceOf(request.path)
    try {
      const result = await answer
      requests.inc({ method, resource, code: 'ok' })
      return result
    } catch (error) {
      if (!request.signal.aborted) requests.inc({ method, resource, code: codeOf(error) })
      throw error
    }
  }

  return {
    measured: (client) => ({
      request: (request) => count(request, client.request(request)),
      stream: (request, silence) => count(request, client.stream(request, silence)),
      close: () => client.close(),
    }),
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof ApiError)) return 'none'
  return STATUSES.has(error.status) ? String(error.status) : 'other'
}

/** `nodes` of `/api/v1/nodes/a/status`, `leases` of `/apis/coordination.k8s.io/v1/namespaces/n/leases/l`. */
function resourceOf(path: string): string {
  const match = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(?:namespaces\/[^/]+\/)?([a-z]+)/.exec(path)
  return match?.[1] ?? 'other'
}
