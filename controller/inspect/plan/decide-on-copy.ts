import type { Clock } from '../../../agent/shared/clock.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { type Config, type DecisionConfig, settingsOf } from '../../config/config.ts'
import { unread } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { heartbeatOf } from '../../kubernetes/kubelet-lease.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import {
  type CSINode,
  createVolumeAttachments,
  readCSINodes,
  topologyKeysOf,
} from '../../kubernetes/storage.ts'
import {
  createLoginAttempts,
  createSharedAnnotations,
  shareLease,
} from '../../kubernetes/vcenter-login-attempts.ts'
import type { Logger } from '../../lib/log.ts'
import { runTogether } from '../../lib/tasks.ts'
import type { Decision } from '../../loops/node/decide/decision.ts'
import { createNodeIndex } from '../../loops/node/gather/node-index.ts'
import { createReconciler } from '../../loops/node/reconcile.ts'
import { createInhabitantsOf } from '../../loops/node/vm-probes/inhabitants.ts'
import { createProbeTracker } from '../../loops/node/vm-probes/probe-tracker.ts'
import { createProbeWorker } from '../../loops/node/vm-probes/probe-worker.ts'
import { createEventHandlers, createInventoryHandler } from '../../loops/node/watch/event-handlers.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { InterlockState } from '../../types/interlock-state.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { openInventory } from '../../vcenter/inventory.ts'
import { createLoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { TIMINGS, type Timings } from '../../vcenter/timings.ts'
import { createClusterCopy } from './cluster-copy.ts'
import { readCluster } from './read-cluster.ts'
import { isSettled, silenceOf } from './vcenter-answers.ts'

export interface DecideOnCopyOptions {
  /** With the users and passwords filled in. */
  readonly config: Config
  readonly client: KubeClient
  /** That the replicas compete for: logins are counted in it. */
  readonly lease: LeaseName
  readonly interlock: InterlockState
  /** The Node whose VM is probed once where it is missing; none by default. */
  readonly probed?: string
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: Metrics
  readonly timings?: Timings
  /** Told where logins are not counted together with the leader's. */
  readonly warn: (message: string) => void
}

/** What a leader would make of the cluster. */
export interface DecidedCopy {
  /** The Nodes as they are. */
  readonly before: ReadonlyMap<string, Node>
  /** Nodes and reports as a leader would leave them. */
  readonly nodes: ReadonlyMap<string, Node>
  readonly reports: ReadonlyMap<string, NodeReport>
  /** The last decision on each Node. */
  readonly decisions: ReadonlyMap<string, Decision | undefined>
  readonly settings: DecisionConfig
  /** Of each vCenter that has not answered for all Nodes, why. */
  readonly remarks: readonly string[]
}

/** Milliseconds that the vCenters have to answer for every Node. */
export const DEADLINE = 120_000
/** Milliseconds between two looks whether they have. */
const POLL_INTERVAL = 100

/**
 * Reconciles a copy of the cluster in memory until nothing is left to do, by the leader's own code. Nothing is written but
 * the attempts to log in, which are counted in the Lease as the leader's are: each vCenter is logged in to once, and once more
 * for tags. The Lease is not taken, and what only time can prove is not waited for.
 *
 * @throws where the API server does not answer, or the signal aborts
 */
export async function decideOnCopy(options: DecideOnCopyOptions, signal: AbortSignal): Promise<DecidedCopy> {
  const { config, client, lease, probed, clock, random, logger, metrics, timings = TIMINGS } = options
  const settings = settingsOf(config)
  const index = createNodeIndex(settings.identity)
  const due = new Set<string>()
  const queue = { add: (name: string) => void due.add(name) }
  const annotations = createSharedAnnotations(shareLease(client, lease, clock))
  const attempts = createLoginAttempts(annotations)
  const logins = createLoginLimiter({ attempts, timings, clock, random, logger, once: true })
  const onChange = createInventoryHandler({ index, queue })
  const inventories = config.vCenters.map((vCenter) =>
    openInventory({
      config: vCenter,
      categories: config.labels,
      userAgent: `rollcall-controller/${options.version}`,
      clock,
      random,
      logger,
      logins,
      metrics: metrics.vCenter(vCenter.name),
      onChange,
      timings,
    }),
  )
  const handlers = createEventHandlers({ index, queue, inventories })
  const copy = createClusterCopy({ onNode: handlers.onNode, onReport: handlers.onReport })
  const before = await readCluster(client, copy, signal)
  const csiNodes = await csiNodesOf(options, signal)
  const decisions = new Map<string, Decision | undefined>()
  const tracker = createProbeTracker({ monotonic: clock.monotonic })
  let wantsProbe = false
  const { reconcile } = createReconciler({
    sources: {
      node: (name) => copy.nodes.get(name),
      report: (name) => copy.reports.get(name),
      index,
      inventories,
      policy: () => ({ state: 'in-force' }),
      interlock: () => options.interlock,
      csiTopologyKeys: (node) => topologyKeysOf(csiNodes.get(node.name), node),
      settings,
      tracker,
      leadingFor: () => Number.POSITIVE_INFINITY,
    },
    writer: copy.writer,
    statusWriter: () => copy.writer,
    tracker,
    enqueueProbe(name) {
      wantsProbe ||= name === probed
    },
    clock,
    enqueue: queue.add,
    onDecision: (name, decision) => void decisions.set(name, decision),
    onDeleted: () => undefined,
    onRejected: () => undefined,
    onStatus: handlers.onStatus,
    onStatusError: () => undefined,
  })

  const probe = createProbeWorker({
    tracker,
    inventories,
    heartbeatOf: (name, signal) => heartbeatOf(client, name, signal),
    volumesAttachedTo: createVolumeAttachments(client, clock),
    inhabitantsOf: createInhabitantsOf({
      index,
      tracker,
      inventories,
      node: (name) => copy.nodes.get(name),
      report: (name) => copy.reports.get(name),
      absentFor: settings.lifecycle.absentFor,
    }),
    onResult: queue.add,
    clock,
    logger,
  })

  async function settle(signal: AbortSignal): Promise<void> {
    const end = clock.monotonic() + DEADLINE
    while (!signal.aborted) {
      for (const name of [...due]) {
        due.delete(name)
        await reconcile(name)
      }
      const answered = inventories.every((inventory) => isSettled(inventory, before.keys(), index.uuidsOf))
      if ((due.size === 0 && answered) || clock.monotonic() > end) return
      await clock.sleep(POLL_INTERVAL, signal)
    }
  }

  await runTogether(
    [
      async (signal) => {
        await settle(signal)
        if (probed !== undefined && wantsProbe) {
          await probe(probed, signal)
          await settle(signal)
        }
      },
      ...inventories.map((inventory) => inventory.run),
    ],
    signal,
  )
  signal.throwIfAborted()
  const alone = annotations.alone()
  if (alone !== undefined)
    options.warn(
      `a login attempt was not counted together with the leader's, because ${alone}: each wrong password counts toward locking the account`,
    )
  return {
    before,
    nodes: copy.nodes,
    reports: copy.reports,
    decisions,
    settings,
    remarks: inventories.flatMap((inventory) => silenceOf(inventory, [...before.keys()], index.uuidsOf)),
  }
}

/** None where they may not be read, as for a leader that lacks the right. */
async function csiNodesOf(
  { client, warn }: DecideOnCopyOptions,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, CSINode>> {
  const read = await attempt(() => readCSINodes(client, signal))
  if (read.ok) return read.value
  signal.throwIfAborted()
  warn(
    `${unread('CSINodes', read.error)}; zone and region count as set by the CSI driver where it is registered`,
  )
  return new Map()
}
