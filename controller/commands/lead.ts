import type { Writer } from '../apply/apply.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { Decision } from '../decide/decide.ts'
import type { Settings } from '../decide/facts.ts'
import type { Node } from '../facts/node.ts'
import type { Inventory } from '../facts/vcenter-view.ts'
import { createNodeIndex } from '../gather/node-index.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { createListWatch } from '../kubernetes/list-watch.ts'
import { parseNode } from '../kubernetes/parse-node.ts'
import { parseNodeReport } from '../kubernetes/parse-node-report.ts'
import type { Logger } from '../log.ts'
import { createReconciler } from '../reconcile.ts'
import { runTogether, type Task } from '../tasks.ts'
import { createClusterWatch } from '../watch/cluster-watch.ts'
import { createQueue } from '../watch/queue.ts'
import { API_GROUP, API_VERSION, PLURAL } from '../../agent/contract.ts'

/** An inventory that has to be kept going. */
export type RunningInventory = Inventory & { run(signal: AbortSignal): Promise<void> }

export interface LeadOptions {
  readonly config: Config
  readonly client: KubeClient
  readonly writer: Writer
  readonly openInventory: (
    config: Config['vCenters'][number],
    onChange: (uuids: Iterable<string>) => void,
  ) => RunningInventory
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly telemetry: LeadTelemetry
}

/** What leading tells of itself. */
export interface LeadTelemetry {
  decided(name: string, decision: Decision | undefined, node: Node | undefined): void
  reconciled(seconds: number, outcome: 'done' | 'retry' | 'error'): void
  queueDepth(read: () => number): void
}

/** Nodes handled at once: enough to keep an API server busy, few enough not to crowd out others. */
const CONCURRENCY = 16
const BACKOFF = { base: 1_000, max: 300_000 }

/** The work of the leader. */
export interface Leadership {
  /** What is not ready yet, a line each, for people. */
  problems(): readonly string[]
  run(signal: AbortSignal): Promise<void>
}

/**
 * Wires the four steps together: the watches name Nodes, the queue hands them to the reconciler. Nothing is decided
 * before both kinds of object are known in full, or a Node would be taken for one without a report.
 */
export function createLeadership(options: LeadOptions): Leadership {
  const { config, client, clock, random, logger, telemetry } = options
  const index = createNodeIndex()
  const inventories = config.vCenters.map((vCenter) =>
    options.openInventory(vCenter, (uuids) => watch.onInventory(uuids)),
  )
  const queue = createQueue({
    process,
    onError: (name, error) => logger.warn({ node: name, err: error }, 'reconcile failed'),
    concurrency: CONCURRENCY,
    backoff: BACKOFF,
    clock,
    random,
  })
  const watch = createClusterWatch({ index, queue, inventories })
  const synced = { nodes: Promise.withResolvers<void>(), reports: Promise.withResolvers<void>() }
  const nodes = createListWatch({
    client,
    path: '/api/v1/nodes',
    parse: parseNode,
    onChange: watch.onNode,
    onSynced: synced.nodes.resolve,
    clock,
    random,
    logger,
  })
  const reports = createListWatch({
    client,
    path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}`,
    parse: parseNodeReport,
    onChange: watch.onReport,
    onSynced: synced.reports.resolve,
    clock,
    random,
    logger,
  })
  const reconcile = createReconciler({
    sources: { node: nodes.get, report: reports.get, index, inventories, settings: settingsOf(config) },
    writer: options.writer,
    clock,
    onDecision: telemetry.decided,
  })
  telemetry.queueDepth(queue.depth)

  async function process(name: string): Promise<'done' | 'retry'> {
    const start = clock.monotonic()
    let outcome: 'done' | 'retry' | 'error' = 'error'
    try {
      outcome = await reconcile(name)
      return outcome
    } finally {
      telemetry.reconciled((clock.monotonic() - start) / 1000, outcome)
    }
  }

  const work: Task = async (signal) => {
    await Promise.race([
      Promise.all([synced.nodes.promise, synced.reports.promise]),
      new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true })),
    ])
    await queue.run(signal)
  }

  return {
    problems: () => [
      ...(nodes.synced ? [] : ['the list of Nodes is not read yet']),
      ...(reports.synced ? [] : ['the list of NodeReports is not read yet']),
      ...inventories
        .map((inventory) => inventory.failure())
        .filter((failure) => failure !== undefined)
        .map(({ vCenter, reason, message }) => `vCenter ${vCenter}: ${reason}: ${message}`),
    ],
    run: (signal) =>
      runTogether([nodes.run, reports.run, work, ...inventories.map((inventory) => inventory.run)], signal),
  }
}

function settingsOf(config: Config): Settings {
  return {
    labels: config.labels,
    datacenters: Object.fromEntries(config.vCenters.map(({ name, datacenters }) => [name, datacenters])),
  }
}
