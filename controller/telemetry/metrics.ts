import { Gauge, Registry } from 'prom-client'
import type { Clock } from '../clock.ts'
import type { ConfigMetrics } from '../config/watch.ts'
import { type ApiMetrics, addApiMetrics } from './api-metrics.ts'
import { addConfigMetrics } from './config-metrics.ts'
import { addLifecycleMetrics, type LifecycleMetrics } from './lifecycle-metrics.ts'
import { addNodeMetrics, type NodeMetrics } from './node-metrics.ts'
import { addProcessMetrics } from './process-metrics.ts'
import { addVCenterMetrics, type VCenterMetrics } from './vcenter-metrics.ts'
import { addWorkMetrics, type WorkMetrics } from './work-metrics.ts'

/** All that the controller tells of itself in numbers; each part is handed what it reports to. */
export interface Metrics
  extends VCenterMetrics,
    Pick<NodeMetrics, 'decided'>,
    LifecycleMetrics,
    WorkMetrics,
    ConfigMetrics,
    ApiMetrics {
  /** Whether this replica leads; when it no longer does, what only a leader knows is forgotten. */
  leading(is: boolean): void
  /** The text that Prometheus reads. */
  text(): Promise<string>
  readonly contentType: string
}

export interface MetricsOptions {
  readonly version: string
  readonly clock: Clock
}

/** Makes a registry of its own: two controllers in one process do not know of each other. */
export function createMetrics({ version, clock }: MetricsOptions): Metrics {
  const registry = new Registry()
  new Gauge({
    name: 'rollcall_build_info',
    help: '1, with the version of this program and of its Node.js',
    labelNames: ['version', 'node'],
    registers: [registry],
  }).set({ version, node: process.version }, 1)
  addProcessMetrics(registry)
  const vCenters = addVCenterMetrics(registry)
  const nodes = addNodeMetrics(registry, clock)
  const lifecycle = addLifecycleMetrics(registry, nodes.decisions)
  const work = addWorkMetrics(registry)
  return {
    ...vCenters,
    decided: nodes.decided,
    ...lifecycle,
    ...work,
    ...addConfigMetrics(registry),
    ...addApiMetrics(registry),
    leading(is) {
      work.leading(is)
      if (is) return
      nodes.forgetNodes()
      vCenters.vCentersUp(() => [])
      lifecycle.lifecycle(() => [])
      work.queueDepth(() => 0)
      work.policyInForce(() => false)
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
  }
}
