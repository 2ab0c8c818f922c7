import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../../agent/shared/clock.ts'
import type { NodeLoopMetrics } from '../loops/node/loop.ts'

export interface CpiMetrics extends Pick<NodeLoopMetrics, 'workQueue' | 'queueDepth' | 'queueActive'> {
  /** Whether this replica leads; while it does not, no controller runs. */
  leading(is: boolean): void
  /** A leader had to read the Lease before it could renew it. */
  leaseReadAgain(): void
  /** Which of the CPI's controllers have work here. */
  controllersRun(which: { readonly node: boolean; readonly lifecycle: boolean }): void
  /** A Node was initialized so many seconds after its creation. */
  initialized(seconds: number): void
}

/** `metrics.ExponentialBuckets(1, 4, 6)` of cloud-provider's node controller. */
const DELAYS = [1, 4, 16, 64, 256, 1024]
/** `ExponentialBuckets(10e-9, 10, 10)` of component-base's work queues. */
const LATENCIES = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10]
/** The queue, and the program, as the CPI's libraries call them. */
const QUEUE = { name: 'Nodes' }
const MANAGER = 'cloud-controller-manager'

/**
 * The metrics that the CPI has by its libraries (cloud-provider, component-base), under their own names: dashboards and
 * alerts keep working. docs/metrics.md says what they mean here.
 *
 * @param lease the name of the Lease
 */
export function addCpiMetrics(registry: Registry, lease: string, clock: Clock): CpiMetrics {
  return {
    ...addElectionMetrics(registry, lease),
    ...addDelays(registry),
    ...addQueueMetrics(registry, clock),
  }
}

function addElectionMetrics(
  registry: Registry,
  name: string,
): Pick<CpiMetrics, 'leading' | 'leaseReadAgain' | 'controllersRun'> {
  const registers = [registry]
  const leader = new Gauge({
    name: 'leader_election_master_status',
    help: '1 while this replica holds the Lease, else 0',
    labelNames: ['name'],
    registers,
  })
  leader.set({ name }, 0)
  const slow = new Counter({
    name: 'leader_election_slowpath_total',
    help: 'Times that the leader had to read the Lease before it could renew it',
    labelNames: ['name'],
    registers,
  })
  slow.inc({ name }, 0)
  const running = new Gauge({
    name: 'running_managed_controllers',
    help: "1 while this replica does the work of this one of the CPI's controllers, else 0",
    labelNames: ['name', 'manager'],
    registers,
  })
  const controllersRun: CpiMetrics['controllersRun'] = ({ node, lifecycle }) => {
    running.set({ name: 'cloud-node', manager: MANAGER }, node ? 1 : 0)
    running.set({ name: 'cloud-node-lifecycle', manager: MANAGER }, lifecycle ? 1 : 0)
  }
  controllersRun({ node: false, lifecycle: false })
  return {
    leading(is) {
      leader.set({ name }, is ? 1 : 0)
      if (!is) controllersRun({ node: false, lifecycle: false })
    },
    leaseReadAgain: () => slow.inc({ name }),
    controllersRun,
  }
}

function addDelays(registry: Registry): Pick<CpiMetrics, 'initialized'> {
  const registers = [registry]
  const delays = [
    new Histogram({
      name: 'node_controller_cloud_provider_taint_removal_delay_seconds',
      help: 'Time from the creation of a Node until its taint was removed',
      buckets: DELAYS,
      registers,
    }),
    new Histogram({
      name: 'node_controller_initial_node_sync_delay_seconds',
      help: 'Time from the creation of a Node until it was initialized',
      buckets: DELAYS,
      registers,
    }),
  ]
  return {
    initialized(seconds) {
      for (const delay of delays) delay.observe(seconds)
    },
  }
}

function addQueueMetrics(
  registry: Registry,
  clock: Clock,
): Pick<CpiMetrics, 'workQueue' | 'queueDepth' | 'queueActive'> {
  const common = { labelNames: ['name'], registers: [registry] }
  let readDepth = () => 0
  let readActive: () => Iterable<number> = () => []
  new Gauge({
    name: 'workqueue_depth',
    help: 'Nodes in the work queue',
    ...common,
    collect() {
      this.set(QUEUE, readDepth())
    },
  })
  const running = () => [...readActive()].map((since) => (clock.monotonic() - since) / 1000)
  new Gauge({
    name: 'workqueue_unfinished_work_seconds',
    help: 'Time spent so far on all Nodes that are being worked on',
    ...common,
    collect() {
      this.set(
        QUEUE,
        running().reduce((sum, seconds) => sum + seconds, 0),
      )
    },
  })
  new Gauge({
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How long the Node that takes longest has been worked on',
    ...common,
    collect() {
      this.set(QUEUE, Math.max(0, ...running()))
    },
  })
  const adds = new Counter({ name: 'workqueue_adds_total', help: 'Nodes added to the work queue', ...common })
  const retries = new Counter({
    name: 'workqueue_retries_total',
    help: 'Nodes that are reconciled again, with backoff',
    ...common,
  })
  for (const counter of [adds, retries]) counter.inc(QUEUE, 0)
  const waits = new Histogram({
    name: 'workqueue_queue_duration_seconds',
    help: 'Time that a Node waits in the work queue',
    buckets: LATENCIES,
    ...common,
  })
  const works = new Histogram({
    name: 'workqueue_work_duration_seconds',
    help: 'Time that one reconcile of a Node takes',
    buckets: LATENCIES,
    ...common,
  })
  return {
    workQueue: {
      added: () => adds.inc(QUEUE),
      started: (waited) => waits.observe(QUEUE, waited / 1000),
      ended: (worked) => works.observe(QUEUE, worked / 1000),
      retried: () => retries.inc(QUEUE),
    },
    queueDepth(read) {
      readDepth = read
    },
    queueActive(read) {
      readActive = read
    },
  }
}
