import type { NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { type Config, settingsOf } from '../../config/config.ts'
import { DEFAULT_TIMEOUT, type KubeClient } from '../../kubernetes/client.ts'
import type { EventRecorder } from '../../kubernetes/event-recorder.ts'
import type { Informer } from '../../kubernetes/informer.ts'
import { heartbeatOf } from '../../kubernetes/lease-holder.ts'
import { createNodeWriter } from '../../kubernetes/node-writer.ts'
import type { ObjectParsers } from '../../kubernetes/object-parsers.ts'
import { createVolumeAttachments } from '../../kubernetes/storage.ts'
import { counted } from '../../lib/format.ts'
import type { Basics, Task } from '../../lib/tasks.ts'
import {
  createWorkQueue,
  DEFAULT_RATE,
  type WorkOutcome,
  type WorkQueue,
  type WorkQueueObserver,
} from '../../lib/work-queue.ts'
import type { PolicyState } from '../../types/cluster-state.ts'
import type { Inventory, Proof } from '../../types/inventory.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { Reason } from '../../types/reasons.ts'
import type { Trouble } from '../../types/trouble.ts'
import { createLastingFailures } from './apply/lasting-failures.ts'
import { createSlowLane, SLOW_AFTER, type SlowNodes } from './apply/slow-lane.ts'
import type { Decision } from './decide/decision.ts'
import { isPartlyConfirmed } from './decide/lifecycle/deletion-preconditions.ts'
import { NEVER_SEEN } from './facts/machines.ts'
import type { Sources } from './gather/sources.ts'
import { createReconciler } from './reconcile.ts'
import { createInhabitantsOf } from './vm-probes/inhabitants.ts'
import type { ProbeTracker } from './vm-probes/probe-tracker.ts'
import { createProbeWorker } from './vm-probes/probe-worker.ts'

/** How many Nodes of one vCenter may have lost their VM. */
export interface VCenterLifecycle {
  /** Its name in the configuration. */
  readonly vCenter: string
  /** Verified Nodes whose VM it does not show. */
  readonly missing: number
  readonly brakeEngaged: boolean
}

/** What is counted of the work. What is read, is read at each scrape, and a later reader replaces an earlier one. */
export interface NodeLoopMetrics {
  /**
   * A Node was reconciled, and the decision was applied or refused; without a decision the Node is gone. To be called once
   * for each reconcile: otherwise a refusal that comes and goes in between would count as new each time.
   */
  decided(name: string, decision: Decision | undefined, node: Node | undefined): void
  /** A Node was deleted whose VM was in this vCenter. */
  nodeDeleted(vCenter: string): void
  reconciled(seconds: number, outcome: WorkOutcome): void
  /** Reads the state of each vCenter. */
  lifecycle(read: () => Iterable<VCenterLifecycle>): void
  /** Reads how many Nodes are in the slow lane. */
  slowNodes(read: () => SlowNodes): void
  queueDepth(read: () => number): void
  /** Reads since when (monotonic) each Node that is worked on is. */
  queueActive(read: () => Iterable<number>): void
  readonly workQueue: Omit<WorkQueueObserver, 'ended'> & { ended(worked: number): void }
}

/** What the loop watches, asks and writes. */
export interface NodeLoopPorts
  extends Basics,
    Pick<Sources, 'index' | 'policy' | 'interlock' | 'csiTopologyKeys' | 'leadingFor'> {
  readonly config: Config
  readonly client: KubeClient
  /** Shared with the two informers. */
  readonly parsers: ObjectParsers
  readonly nodes: Pick<Informer<Node>, 'get' | 'values'>
  readonly reports: Pick<Informer<NodeReport>, 'get'>
  readonly inventories: readonly (Inventory & { provableEverywhere(): Proof | undefined })[]
  /** Lives as long as the term: it keeps evidence and deletions when the configuration changes. */
  readonly tracker: ProbeTracker
  /** Confirms that this replica leads and may write: to be called before anything that cannot be undone. */
  readonly confirm: () => Promise<boolean>
  readonly events: Pick<EventRecorder, 'event'>
  /** To be called with a report whose status counts from now on, though the API server does not have it. */
  readonly onStatus: (name: string, report: NodeReport | undefined) => void
  /** To be called with the status that was decided for a Node; undefined where it is gone or not ours. */
  readonly onDecided: (name: string, status: NodeReportStatus | undefined) => void
  /** To be called when a Node is being initialized. */
  readonly onInitializing: () => void
  /** What other loops say of a Node, for the status of its report. */
  readonly otherConditions: Sources['otherConditions']
  /** Cuts off writes under way. The signal of `run` only prevents new ones. */
  readonly writing: AbortSignal
  readonly metrics: NodeLoopMetrics
}

/** Nodes handled at once: enough to keep an API server busy, few enough not to crowd out others. */
const CONCURRENCY = 16
/** Of them whose writes are slow: such a write may cost the API server a core for as long as it takes. */
const SLOW_CONCURRENCY = 2
/**
 * Nodes probed at once. Each probe makes about six small calls, one after the other: where each takes seconds, fewer probes at
 * once could not cover all missing Nodes before the next session or leader starts over.
 */
const PROBES = 16
/** Least time between two probes of a Node after a burst, milliseconds; less where Nodes may be deleted sooner. */
const PROBE_INTERVAL = 5_000

/**
 * Wires the steps together: a queue hands Nodes to the reconciler, and another one those whose VM is to be probed. When the
 * signal aborts, reconciles under way are finished, and the statuses that were put off are written.
 */
export function startNodeLoop(ports: NodeLoopPorts) {
  const { client, nodes, reports, index, inventories, tracker, clock, random, logger, metrics } = ports
  const settings = settingsOf(ports.config)
  const { lifecycle } = settings
  const lastingFailures = createLastingFailures(clock)
  const writers = (patience: number, signal: AbortSignal) =>
    lastingFailures.watch(createNodeWriter(client, ports.parsers, patience, signal))
  const queue: WorkQueue = createWorkQueue({
    onError: (name, error) => logger.warn({ node: name, err: error }, 'reconcile failed'),
    concurrency: CONCURRENCY,
    slowLane: { concurrency: SLOW_CONCURRENCY, has: (name) => slowLane.has(name) },
    isNews: (name) => reconciler.isNews(name),
    observer: {
      ...metrics.workQueue,
      ended(worked, outcome) {
        metrics.workQueue.ended(worked)
        if (outcome !== undefined) metrics.reconciled(worked / 1000, outcome)
      },
    },
    clock,
    random,
  })
  const probeQueue = createWorkQueue({
    onError: (name, error) => logger.warn({ node: name, err: error }, 'probe failed'),
    concurrency: PROBES,
    // Where many are missing, some are through before the next session or leader starts over.
    isUrgent: (name) => isPartlyConfirmed(tracker.evidence(name), lifecycle),
    // A node that reports another machine every second must not cost vCenter a search every second.
    rate: { ...DEFAULT_RATE, interval: Math.min(PROBE_INTERVAL, lifecycle.absentFor / 60) },
    clock,
    random,
  })
  const patient = writers(DEFAULT_TIMEOUT, ports.writing)
  const brief = writers(SLOW_AFTER, ports.writing)
  const slowLane = createSlowLane({ nodes, reports, brief, patient, clock })
  /** What the API server says where it does not take the report of a Node, or its status. */
  const unwritten = new Map<string, string>()

  const reconciler = createReconciler({
    sources: { ...ports, node: nodes.get, report: reports.get, settings },
    tracker,
    enqueueProbe: probeQueue.add,
    writer: {
      ...patient,
      confirm: ports.confirm,
      recordEvent: ({ name, uid }, event) =>
        ports.events.event({ regarding: { apiVersion: 'v1', kind: 'Node', name, uid }, ...event }),
    },
    // A status that is not written in time goes the way of the slow lane: others are behind it.
    statusWriter: (signal) => writers(SLOW_AFTER, signal),
    clock,
    enqueue: queue.add,
    onDecision(name, decision, node) {
      metrics.decided(name, decision, node)
      if (!isUnwritten(decision?.refusal?.reason)) unwritten.delete(name)
      if (decision?.state === 'initializing') ports.onInitializing()
      const isOurs = decision !== undefined && decision.state !== 'unmanaged'
      ports.onDecided(name, isOurs ? (decision.status ?? reports.get(name)?.status) : undefined)
    },
    onDeleted({ name, uid }, { vCenter, event }) {
      // The Event is gone after an hour, and the report together with the Node.
      logger.warn({ node: name, uid, vCenter, why: event.message }, 'Node deleted, its VM is gone')
      metrics.nodeDeleted(vCenter)
    },
    slowLane,
    lastingFailures,
    onRejected(name, { reason, message }) {
      if (isUnwritten(reason)) unwritten.set(name, message)
      logger.warn(
        { node: name, error: message },
        reason === 'NodeWritesSlow' ? 'write not answered' : 'write refused',
      )
    },
    onStatus: ports.onStatus,
    onStatusError: (name, error) => logger.warn({ node: name, err: error }, 'writing a status failed'),
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
      node: nodes.get,
      report: ports.reports.get,
      absentFor: lifecycle.absentFor,
    }),
    onResult: queue.add,
    clock,
    logger,
  })

  metrics.queueDepth(queue.depth)
  metrics.slowNodes(slowLane.count)
  metrics.queueActive(queue.activeSince)
  metrics.lifecycle(() =>
    [...inventories.map(({ vCenter }) => vCenter), NEVER_SEEN].map((vCenter) => ({
      vCenter,
      ...tracker.missing(vCenter, index.latched()),
    })),
  )

  const run: Task = async (signal) => {
    if (!signal.aborted) tracker.resume((name) => nodes.get(name) !== undefined)
    await Promise.all([
      queue.run(reconciler.reconcile, signal),
      probeQueue.run(probe, signal),
      reconciler.run(signal),
    ])
  }

  return {
    add(name: string, why?: 'itself') {
      if (why === 'itself') queue.addIfNews(name)
      else queue.add(name)
    },
    isIdle: () => queue.isIdle() && probeQueue.isIdle(),
    problems: () => policyProblem(ports.policy()),
    remarks: () => [
      ...(lifecycle.deletion === 'off' ? [] : inventories.flatMap(unprovable)),
      ...unwrittenReports(unwritten),
    ],
    run,
  }
}

function policyProblem(policy: PolicyState): readonly string[] {
  if (policy.state === 'in-force') return []
  return [policy.state === 'pending' ? 'the policy for reports is not proven yet' : policy.message]
}

function isUnwritten(reason: Reason | undefined): boolean {
  return reason === 'StatusRefused' || reason === 'ReportRefused'
}

/** No report says this of itself: what it says is old, or nothing. */
function unwrittenReports(unwritten: ReadonlyMap<string, string>): readonly Trouble[] {
  const [message] = unwritten.values()
  if (message === undefined) return []
  const text = 'the API server rejects writes for some Nodes, so their NodeReports are out of date or empty'
  return [
    {
      key: 'unwritten reports',
      text: `${text}; see the log`,
      message: `${text}: ${counted([...unwritten.keys()])}: ${message}`,
    },
  ]
}

/** The failure's message names users and objects. */
function unprovable({
  vCenter,
  provableEverywhere,
}: NodeLoopPorts['inventories'][number]): readonly Trouble[] {
  const proof = provableEverywhere()
  if (proof?.state !== 'unproven') return []
  const { reason, message } = proof.failure
  const what = `vCenter ${vCenter}: ${reason}, so that Nodes whose VMs are gone are kept`
  const text = `${what}; see the condition DeletionPossible of NodeReports`
  // Whatever the reason is now: one that changes is the same trouble.
  return [{ key: `proof in ${vCenter}`, text, message: `${what}: ${message}` }]
}
